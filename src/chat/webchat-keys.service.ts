import { Injectable } from '@nestjs/common';
import { ActivityLog } from '../audit';
import { Limits, type LimitState } from '../billing';
import { type Actor, atLeast, DAY_MS, HOUR_MS, nanoPerUsd } from '../kernel';
import { type Caller, KeyDirectory, KeysService, type IssuedKey } from '../keys';
import { Database, readRows, type TableRow, Settings, type Tx } from '../platform';

type WebchatKeyRow = TableRow<'api_key', 'id, public_id, status'> & { readonly isAlive: boolean };

export interface WebchatKey {
  readonly id: number;
  readonly publicId: string;
  readonly text: string;
  readonly expiresAt: Date;
  readonly budget: LimitState | null;
}

const MAX_IDLE_MS = 7 * DAY_MS;
const MAX_ADMINISTRATOR_IDLE_MS = 12 * HOUR_MS;
const KEY_NAME = 'Web chat';

/**
 * The API key of a user's web chat, one per user, whose row keeps the month's budget across sessions. A new session
 * issues a new secret, and the session's end revokes it.
 */
@Injectable()
export class WebchatKeysService {
  constructor(
    private readonly database: Database,
    private readonly keys: KeysService,
    private readonly directory: KeyDirectory,
    private readonly limits: Limits,
    private readonly activity: ActivityLog,
    private readonly settings: Settings,
  ) {}

  async issue(actor: Actor): Promise<WebchatKey> {
    const expiresAt = expiryFor(actor);
    const { issued, budget } = await this.database.transaction(async (tx) => {
      const issuedKey = await this.createOrRotate(tx, actor, expiresAt);
      return { issued: issuedKey, budget: await this.limits.state({ kind: 'key', id: issuedKey.id }, tx) };
    });
    this.directory.forget({ what: 'key', id: issued.id });
    return { id: issued.id, publicId: issued.publicId, text: issued.text, expiresAt, budget };
  }

  async callerFor(actor: Actor): Promise<Caller> {
    const existingKey = await this.findKey(this.database.source.manager, actor);
    if (existingKey?.isAlive === true) return this.directory.callerOf(existingKey.id);
    const issued = await this.database.transaction(async (tx) => {
      // Another turn could have created the key meanwhile.
      await this.lockUser(tx, actor);
      const current = await this.findKey(tx, actor);
      if (current?.isAlive === true) return { id: current.id };
      return this.createOrRotate(tx, actor, expiryFor(actor));
    });
    this.directory.forget({ what: 'key', id: issued.id });
    return this.directory.callerOf(issued.id);
  }

  private async createOrRotate(tx: Tx, actor: Actor, expiresAt: Date): Promise<IssuedKey> {
    await this.lockUser(tx, actor);
    const existingKey = await this.findKey(tx, actor);
    const isNew = existingKey === null || existingKey.status === 'revoked';
    const issued = isNew
      ? await this.create(tx, actor, expiresAt)
      : await this.rotate(tx, actor, existingKey, expiresAt);
    await tx.query(
      `INSERT INTO webchat_key (user_id, key_id, session_id) VALUES ($1, $2, $3)
       ON CONFLICT ON CONSTRAINT webchat_key_pkey
       DO UPDATE SET key_id = excluded.key_id, session_id = excluded.session_id`,
      [actor.userId, issued.id, actor.sessionId],
    );
    await this.activity.write(tx, {
      action: isNew ? 'key.created' : 'key.rotated',
      object: { type: 'key', id: issued.id, label: KEY_NAME },
    });
    return issued;
  }

  private create(tx: Tx, actor: Actor, expiresAt: Date): Promise<IssuedKey> {
    const limit = BigInt(this.settings.webchatBudgetUsd) * nanoPerUsd;
    return this.keys.issue({ kind: 'user', userId: actor.userId }, tx, {
      kind: 'webchat',
      name: KEY_NAME,
      createdBy: `user ${actor.userId}`,
      userId: actor.userId,
      organisationId: null,
      departmentId: null,
      projectId: null,
      expiresAt,
      ...(limit === 0n ? {} : { budget: { limit, period: 'monthly' } }),
    });
  }

  private async rotate(
    tx: Tx,
    { userId }: Actor,
    { publicId }: WebchatKeyRow,
    expiresAt: Date,
  ): Promise<IssuedKey> {
    const scope = { kind: 'user', userId } as const;
    await this.keys.change(scope, tx, publicId, { status: 'active', expiresAt });
    return this.keys.rotate(scope, tx, publicId);
  }

  private lockUser(tx: Tx, { userId }: Actor): Promise<unknown> {
    return tx.query(`SELECT pg_advisory_xact_lock(hashtext('webchat key'), $1)`, [userId]);
  }

  private async findKey(tx: Tx, { userId }: Actor): Promise<WebchatKeyRow | null> {
    const [row] = await readRows<WebchatKeyRow>(
      tx,
      `SELECT k.id, k.public_id, k.status,
              k.status = 'active' AND k.expires_at > now()
                AND EXISTS (SELECT FROM session s WHERE s.public_id = w.session_id AND s.expires_at > now()) AS is_alive
         FROM webchat_key w JOIN api_key k ON k.id = w.key_id WHERE w.user_id = $1`,
      [userId],
    );
    return row ?? null;
  }
}

/** The key expires when the session would, if idle. */
const expiryFor = ({ role }: Actor): Date =>
  new Date(Date.now() + (atLeast(role, 'department_admin') ? MAX_ADMINISTRATOR_IDLE_MS : MAX_IDLE_MS));
