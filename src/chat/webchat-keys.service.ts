import { Injectable } from '@nestjs/common';
import { ActivityLog } from '../audit';
import { Limits, type LimitState } from '../billing';
import { type Actor, atLeast, DAY_MS, HOUR_MS, nanoPerUsd } from '../kernel';
import { type Caller, KeyDirectory, KeysService, type IssuedKey } from '../keys';
import { Database, readRows, type Row, Settings, type Tx } from '../platform';

type KnownKey = Row<'api_key', 'id, public_id, status'> & { readonly isAlive: boolean };

export interface WebchatKey {
  readonly id: number;
  readonly publicId: string;
  readonly text: string;
  readonly expiresAt: Date;
  readonly budget: LimitState | null;
}

const IDLE_MS = 7 * DAY_MS;
const IDLE_ADMINISTRATOR_MS = 12 * HOUR_MS;
const NAME = 'Web chat';

/**
 * The key of a person's web chat. There is one a person, and its row keeps the month's budget across sessions. A new
 * session gives it a new secret; the end of that session removes it.
 */
@Injectable()
export class WebchatKeys {
  constructor(
    private readonly database: Database,
    private readonly keys: KeysService,
    private readonly directory: KeyDirectory,
    private readonly limits: Limits,
    private readonly activity: ActivityLog,
    private readonly settings: Settings,
  ) {}

  /** A new secret, which ends the one before. */
  async issue(actor: Actor): Promise<WebchatKey> {
    const expiresAt = endOf(actor);
    const { issued, budget } = await this.database.transaction(async (tx) => {
      const issued = await this.renew(tx, actor, expiresAt);
      return { issued, budget: await this.limits.state({ kind: 'key', id: issued.id }, tx) };
    });
    this.directory.forget({ what: 'key', id: issued.id });
    return { id: issued.id, publicId: issued.publicId, text: issued.text, expiresAt, budget };
  }

  /** In a turn of this person's chat this caller calls. */
  async callerFor(actor: Actor): Promise<Caller> {
    const known = await this.knownOf(this.database.source.manager, actor);
    if (known?.isAlive === true) return this.directory.callerOf(known.id);
    const issued = await this.database.transaction(async (tx) => {
      // Another turn may have made it meanwhile.
      await this.takeTurns(tx, actor);
      const current = await this.knownOf(tx, actor);
      if (current?.isAlive === true) return { id: current.id };
      return this.renew(tx, actor, endOf(actor));
    });
    this.directory.forget({ what: 'key', id: issued.id });
    return this.directory.callerOf(issued.id);
  }

  private async renew(tx: Tx, actor: Actor, expiresAt: Date): Promise<IssuedKey> {
    await this.takeTurns(tx, actor);
    const known = await this.knownOf(tx, actor);
    const isNew = known === null || known.status === 'revoked';
    const issued = isNew
      ? await this.make(tx, actor, expiresAt)
      : await this.revive(tx, actor, known, expiresAt);
    await tx.query(
      `INSERT INTO webchat_key (user_id, key_id, session_id) VALUES ($1, $2, $3)
       ON CONFLICT ON CONSTRAINT webchat_key_pkey
       DO UPDATE SET key_id = excluded.key_id, session_id = excluded.session_id`,
      [actor.userId, issued.id, actor.sessionId],
    );
    await this.activity.write(tx, {
      action: isNew ? 'key.created' : 'key.rotated',
      object: { type: 'key', id: issued.id, label: NAME },
    });
    return issued;
  }

  private make(tx: Tx, actor: Actor, expiresAt: Date): Promise<IssuedKey> {
    const limit = BigInt(this.settings.webchatBudgetUsd) * nanoPerUsd;
    return this.keys.issue({ kind: 'user', userId: actor.userId }, tx, {
      kind: 'webchat',
      name: NAME,
      createdBy: `user ${actor.userId}`,
      userId: actor.userId,
      organisationId: null,
      departmentId: null,
      projectId: null,
      expiresAt,
      ...(limit === 0n ? {} : { budget: { limit, period: 'monthly' } }),
    });
  }

  private async revive(
    tx: Tx,
    { userId }: Actor,
    { publicId }: KnownKey,
    expiresAt: Date,
  ): Promise<IssuedKey> {
    const scope = { kind: 'user', userId } as const;
    await this.keys.change(scope, tx, publicId, { status: 'active', expiresAt });
    return this.keys.rotate(scope, tx, publicId);
  }

  private takeTurns(tx: Tx, { userId }: Actor): Promise<unknown> {
    return tx.query(`SELECT pg_advisory_xact_lock(hashtext('webchat key'), $1)`, [userId]);
  }

  private async knownOf(tx: Tx, { userId }: Actor): Promise<KnownKey | null> {
    const [row] = await readRows<KnownKey>(
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

/** It lasts as long as a session may be idle. */
const endOf = ({ role }: Actor): Date =>
  new Date(Date.now() + (atLeast(role, 'department_admin') ? IDLE_ADMINISTRATOR_MS : IDLE_MS));
