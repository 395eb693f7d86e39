import { createHmac, randomBytes, randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import {
  type Actor,
  atLeast,
  DAY_MS,
  fault,
  HOUR_MS,
  isAdministrator,
  MINUTE_MS,
  type Role,
  scopeOf,
} from '../kernel';
import { Database, QuarantineState, readRows, type Row, Settings, type Tx } from '../platform';
import { Session } from './session.entity';

const ABSOLUTE = 30 * DAY_MS;
const IDLE = 7 * DAY_MS;
const IDLE_ADMINISTRATOR = 12 * HOUR_MS;
/** The last-seen time is written at most this often, so that reading pages does not write rows. */
const SEEN_EVERY = MINUTE_MS;

type SessionRow = Row<'session', 'public_id, user_id, admin_role, admin_organisation_id'> &
  Row<
    'user_account',
    'email, display_name, role, status, organisation_id, department_id, preferred_language, time_zone'
  > & {
    /** It is computed by the database, whose clock wrote the time. */
    readonly idleMs: number;
    readonly organisationName: string | null;
    readonly adminOrganisationName: string | null;
    readonly hasSecondFactor: boolean;
  };

/** A signed-in person sees pages in this way, beside what they may see. */
export interface Viewing {
  readonly language: string;
  readonly timeZone: string;
  readonly organisationName: string | null;
  /** An administrator who has to switch on a second factor first, and until then is a user like others. */
  readonly awaitsSecondFactor: boolean;
  /** It is open while an administrator looks with an administrator's eyes, narrowed to an organisation or to none. */
  readonly adminView: { readonly organisation: { readonly id: number; readonly name: string } | null } | null;
}

export interface OpenedFrom {
  readonly address?: string;
  readonly userAgent?: string;
  /** The portal where it is good: empty for BASE_URL's. */
  readonly host?: string;
}

interface OpenSession {
  readonly id: string;
  readonly address: string | null;
  readonly userAgent: string | null;
  readonly createdAt: Date;
  readonly lastSeenAt: Date;
}

export type SessionReading =
  | { readonly kind: 'actor'; readonly userId: number; readonly actor: Actor; readonly viewing: Viewing }
  | {
      readonly kind: 'inactive';
      readonly userId: number;
      readonly status: string;
      readonly actor: Actor;
      readonly viewing: Viewing;
    }
  | { readonly kind: 'absent' };

/** Sessions are rows: a new one at every sign-in, found by the hash of the cookie, ended by deleting them. */
@Injectable()
export class SessionsService {
  constructor(
    private readonly database: Database,
    private readonly settings: Settings,
    private readonly quarantine: QuarantineState,
  ) {}

  /** Returns the cookie's value; only its hash is kept. Without a host it is a session of BASE_URL. */
  async open(tx: Tx, userId: number, from: OpenedFrom = {}): Promise<string> {
    await this.refuseInQuarantine(tx, userId);
    const token = randomBytes(32).toString('base64url');
    await tx.getRepository(Session).insert({
      tokenHash: this.hashOf(token),
      publicId: randomUUID(),
      userId,
      expiresAt: new Date(Date.now() + ABSOLUTE),
      host: from.host ?? '',
      address: from.address ?? null,
      userAgent: from.userAgent?.slice(0, 400) ?? null,
    });
    return token;
  }

  /** An installation that was restored is closed to all who cannot release it; null stands for a new user. */
  async refuseInQuarantine(tx: Tx, userId: number | null): Promise<void> {
    if (this.quarantine.open === null) return;
    const [user] = await readRows<Row<'user_account', 'role'>>(
      tx,
      'SELECT role FROM user_account WHERE id = $1',
      [userId],
    );
    if (user?.role !== 'platform_owner')
      throw fault('service_unavailable', {
        message:
          'The service was restored from a backup. Until it is released, only platform owners may sign in.',
        details: { reason: 'quarantined' },
      });
  }

  /** `host` is the portal that is asked: empty for BASE_URL's. */
  async read(token: string, host: string): Promise<SessionReading> {
    const [row] = await this.database.rows<SessionRow>(
      `SELECT s.public_id, s.user_id, u.email, u.display_name, u.role, u.status,
              u.organisation_id, u.department_id, u.preferred_language, u.time_zone, o.name AS organisation_name,
              s.admin_role, s.admin_organisation_id, a.name AS admin_organisation_name,
              EXISTS (SELECT 1 FROM second_factor f WHERE f.user_id = u.id AND f.enabled_at IS NOT NULL)
                AS has_second_factor,
              (extract(epoch FROM clock_timestamp() - s.last_seen_at) * 1000)::float8 AS idle_ms
       FROM session s JOIN user_account u ON u.id = s.user_id
       LEFT JOIN organisation o ON o.id = u.organisation_id
       LEFT JOIN organisation a ON a.id = s.admin_organisation_id
       WHERE s.token_hash = $1 AND s.host = $2 AND s.expires_at > now()`,
      [this.hashOf(token), host],
    );
    if (row === undefined || this.hasIdledOut(row) || !isServedAt(host, row.role)) return { kind: 'absent' };
    const awaitsSecondFactor = this.awaitsSecondFactor(row);
    const seen = awaitsSecondFactor ? { ...row, role: 'user' as const } : row;
    const [actor, viewing] = [toActor(seen), { ...viewingOf(seen), awaitsSecondFactor }];
    const userId = row.userId;
    if (row.status !== 'active')
      return {
        kind: 'inactive',
        userId,
        status: row.status,
        actor,
        viewing: { ...viewing, adminView: null },
      };
    await this.touch(row);
    return { kind: 'actor', userId, actor, viewing };
  }

  async end(tx: Tx, token: string): Promise<void> {
    await tx.getRepository(Session).delete({ tokenHash: this.hashOf(token) });
  }

  /** After a change of role the session in use gets a new id and all others end. Returns the cookie's value. */
  async renew(tx: Tx, userId: number, publicId: string): Promise<string> {
    const token = randomBytes(32).toString('base64url');
    await tx.query('DELETE FROM session WHERE user_id = $1 AND public_id <> $2', [userId, publicId]);
    await tx.getRepository(Session).update({ userId, publicId }, { tokenHash: this.hashOf(token) });
    return token;
  }

  async endAll(tx: Tx, userId: number): Promise<void> {
    await tx.getRepository(Session).delete({ userId });
  }

  /** People whose organisation changes sign in anew. */
  async endAllIn(tx: Tx, organisationIds: readonly number[]): Promise<void> {
    await tx.query(
      `DELETE FROM session s USING user_account u
        WHERE u.id = s.user_id AND u.organisation_id = ANY ($1::integer[])`,
      [organisationIds],
    );
  }

  /** The open sessions of a person, as administrators see them; the one used last comes first. */
  listOf(userId: number): Promise<OpenSession[]> {
    return this.database.rows<OpenSession>(
      `SELECT public_id AS id, host(address) AS address, user_agent, created_at, last_seen_at
         FROM session WHERE user_id = $1 AND expires_at > now() ORDER BY last_seen_at DESC LIMIT 50`,
      [userId],
    );
  }

  private hashOf(token: string): Buffer {
    return createHmac('sha256', this.settings.sessionSecret).update(token).digest();
  }

  private hasIdledOut(row: SessionRow): boolean {
    const idle = isAdministrator(row.role) ? IDLE_ADMINISTRATOR : IDLE;
    return row.idleMs > idle;
  }

  /** Asked with the role at each request: no right of an administrator is left without the factor. */
  private awaitsSecondFactor({ role, hasSecondFactor: has }: SessionRow): boolean {
    return this.settings.secondFactorFor === 'administrators' && isAdministrator(role) && !has;
  }

  private async touch(row: SessionRow): Promise<void> {
    if (row.idleMs < SEEN_EVERY) return;
    await this.database.query('UPDATE session SET last_seen_at = now() WHERE public_id = $1', [row.publicId]);
  }
}

/** Hosts of others, and what stands in front of them, never hold a right over the platform. */
export const isServedAt = (host: string, role: Role): boolean =>
  host === '' || !atLeast(role, 'platform_admin');

function toActor(row: SessionRow): Actor {
  const user = {
    userId: row.userId,
    role: row.role,
    organisationId: row.organisationId,
    departmentId: row.departmentId,
  };
  return {
    ...user,
    email: row.email,
    displayName: row.displayName,
    sessionId: row.publicId,
    scope: scopeOf(user),
  };
}

function viewingOf(row: SessionRow): Omit<Viewing, 'awaitsSecondFactor'> {
  const isOpen = isAdministrator(row.role) && row.adminRole === row.role;
  const organisation =
    row.adminOrganisationId === null || !atLeast(row.role, 'platform_admin')
      ? null
      : { id: row.adminOrganisationId, name: row.adminOrganisationName ?? '' };
  return {
    language: row.preferredLanguage,
    timeZone: row.timeZone,
    organisationName: row.organisationName,
    adminView: isOpen ? { organisation } : null,
  };
}
