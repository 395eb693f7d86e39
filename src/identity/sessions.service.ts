import { createHmac, randomBytes, randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Not, type Repository } from 'typeorm';
import {
  type Actor,
  atLeast,
  DAY_MS,
  fault,
  HOUR_MS,
  isAdministrator,
  MINUTE_MS,
  type UserRole,
  scopeOf,
} from '../kernel';
import { Database, QuarantineState, Settings, type Tx } from '../platform';
import { Session } from './session.entity';
import { findSession, listOpenSessions, type OpenSession, type SessionRow } from './session.query';
import { deleteSessionsIn } from './session.store';
import { UserAccount } from './user-account.entity';

const MAX_AGE_MS = 30 * DAY_MS;
const MAX_IDLE_MS = 7 * DAY_MS;
const MAX_ADMIN_IDLE_MS = 12 * HOUR_MS;
const MAX_LISTED = 50;
/** Minimum interval between writes of the last-seen time, so that page views rarely write rows. */
const SEEN_INTERVAL_MS = MINUTE_MS;

/** How pages are displayed to a signed-in user, in addition to what the user is allowed to see. */
export interface ViewerContext {
  readonly language: string;
  readonly timeZone: string;
  readonly organisationName: string | null;
  /** An administrator who has to enable a second factor first, and is treated as a plain user until then. */
  readonly awaitsSecondFactor: boolean;
  /** Admin view, for one organisation or for all; null while it is closed. */
  readonly adminView: { readonly organisation: { readonly id: number; readonly name: string } | null } | null;
}

export interface SessionOrigin {
  readonly address?: string;
  readonly userAgent?: string;
  /** Host of the portal on which the session is valid; empty for BASE_URL. */
  readonly host?: string;
}

export type SessionLookup =
  | {
      readonly kind: 'actor';
      readonly userId: number;
      readonly actor: Actor;
      readonly viewing: ViewerContext;
    }
  | {
      readonly kind: 'inactive';
      readonly userId: number;
      readonly status: string;
      readonly actor: Actor;
      readonly viewing: ViewerContext;
    }
  | { readonly kind: 'absent' };

/** Sessions are rows: created at every sign-in, found by the hash of the cookie, and deleted to end them. */
@Injectable()
export class SessionsService {
  constructor(
    private readonly database: Database,
    @InjectRepository(Session) private readonly openSessions: Repository<Session>,
    private readonly settings: Settings,
    private readonly quarantine: QuarantineState,
  ) {}

  /** Returns the cookie's value; only its hash is stored. Without a host, the session is for BASE_URL. */
  async open(tx: Tx, userId: number, from: SessionOrigin = {}): Promise<string> {
    await this.refuseInQuarantine(tx, userId);
    const token = randomBytes(32).toString('base64url');
    await tx.getRepository(Session).insert({
      tokenHash: this.hashOf(token),
      publicId: randomUUID(),
      userId,
      expiresAt: new Date(Date.now() + MAX_AGE_MS),
      host: from.host ?? '',
      address: from.address ?? null,
      userAgent: from.userAgent?.slice(0, 400) ?? null,
    });
    return token;
  }

  /** A restored installation is closed to everyone who cannot release it; null stands for a new user. */
  async refuseInQuarantine(tx: Tx, userId: number | null): Promise<void> {
    if (this.quarantine.open === null) return;
    const user = userId === null ? null : await tx.getRepository(UserAccount).findOneBy({ id: userId });
    if (user?.role !== 'platform_owner')
      throw fault('service_unavailable', {
        message:
          'The service was restored from a backup. Until it is released, only platform owners may sign in.',
        details: { reason: 'quarantined' },
      });
  }

  /** `host` is the requested portal; empty for BASE_URL. */
  async read(token: string, host: string): Promise<SessionLookup> {
    const row = await findSession(this.database, this.hashOf(token), host);
    if (row === undefined || this.isIdleTooLong(row) || !isServedAt(host, row.role))
      return { kind: 'absent' };
    const awaitsSecondFactor = this.awaitsSecondFactor(row);
    const effectiveRow = awaitsSecondFactor ? { ...row, role: 'user' as const } : row;
    const [actor, viewing] = [toActor(effectiveRow), { ...viewingOf(effectiveRow), awaitsSecondFactor }];
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

  /** Gives the current session a new id after a role change and ends all others. Returns the cookie's value. */
  async renew(tx: Tx, userId: number, publicId: string): Promise<string> {
    const token = randomBytes(32).toString('base64url');
    const sessions = tx.getRepository(Session);
    await sessions.delete({ userId, publicId: Not(publicId) });
    await sessions.update({ userId, publicId }, { tokenHash: this.hashOf(token) });
    return token;
  }

  async endAll(tx: Tx, userId: number): Promise<void> {
    await tx.getRepository(Session).delete({ userId });
  }

  endAllIn(tx: Tx, organisationIds: readonly number[]): Promise<void> {
    return deleteSessionsIn(tx, organisationIds);
  }

  /** Open sessions of a user, as administrators see them; most recently used first. */
  listOf(userId: number): Promise<OpenSession[]> {
    return listOpenSessions(this.database, userId, MAX_LISTED);
  }

  private hashOf(token: string): Buffer {
    return createHmac('sha256', this.settings.sessionSecret).update(token).digest();
  }

  private isIdleTooLong(row: SessionRow): boolean {
    const maxIdleMs = isAdministrator(row.role) ? MAX_ADMIN_IDLE_MS : MAX_IDLE_MS;
    return row.idleMs > maxIdleMs;
  }

  /** Checked with the role on each request, so that no administrator right is available without the factor. */
  private awaitsSecondFactor({ role, hasSecondFactor: has }: SessionRow): boolean {
    return this.settings.secondFactorFor === 'administrators' && isAdministrator(role) && !has;
  }

  private async touch(row: SessionRow): Promise<void> {
    if (row.idleMs < SEEN_INTERVAL_MS) return;
    await this.openSessions.update({ publicId: row.publicId }, { lastSeenAt: () => 'now()' });
  }
}

/** Hosts of resellers, and proxies in front of them, never get rights over the platform. */
export const isServedAt = (host: string, role: UserRole): boolean =>
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

function viewingOf(row: SessionRow): Omit<ViewerContext, 'awaitsSecondFactor'> {
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
