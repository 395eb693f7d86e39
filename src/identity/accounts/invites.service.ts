import { createHmac, randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { ActivityLog, changesOf } from '../../audit';
import { type Actor, atLeast, DAY_MS, fault, canGrant, type UserRole, scopeOf } from '../../kernel';
import { Database, Settings, type Tx } from '../../platform';
import { actorOf } from '../activity-actor';
import { Organisation } from '../organisation.entity';
import { lockRoles } from '../role-lock';
import { SessionsService } from '../sessions.service';
import { UserAccount } from '../user-account.entity';
import { Invite } from './invite.entity';
import { findInvite } from './invite.query';
import { acceptInvite, type AcceptedInvite } from './invite.store';
import { hasLinkedIdentity } from './provider-only';
import type { InviteDetails } from './invite.query';

export type { InviteDetails } from './invite.query';

const WEEK_MS = 7 * DAY_MS;
const TOKEN_FORMAT = /^[\w-]{43}$/;

export interface NewInvite {
  readonly email: string;
  readonly role: UserRole;
  readonly organisationId: number;
  readonly departmentId: number | null;
}

@Injectable()
export class InvitesService {
  constructor(
    private readonly database: Database,
    private readonly sessions: SessionsService,
    private readonly activity: ActivityLog,
    private readonly settings: Settings,
  ) {}

  /** Returns the row's id and the token for the email. The caller has checked the organisation. */
  async create(
    tx: Tx,
    actor: Actor,
    input: NewInvite,
    replaced: readonly number[] = [],
  ): Promise<{ id: number; token: string }> {
    if (!canGrant(actor.role, input.role)) throw fault('permission_denied');
    const token = randomBytes(32).toString('base64url');
    const invites = tx.getRepository(Invite);
    const invite = invites.create({
      ...input,
      tokenHash: this.hashOf(token),
      invitedBy: actor.userId,
      expiresAt: new Date(Date.now() + WEEK_MS),
    });
    await invites.insert(invite);
    await this.activity.write(tx, {
      action: 'invite.created',
      object: { type: 'invite', id: invite.id, label: invite.email },
      concerns: { organisationId: input.organisationId, departmentId: input.departmentId },
      changes: changesOf(null, {
        role: input.role,
        ...(replaced.length === 0 ? {} : { replaced_invites: replaced }),
      }),
    });
    return { id: invite.id, token };
  }

  async find(token: string, viewer: string | null): Promise<InviteDetails | null> {
    return TOKEN_FORMAT.test(token) ? findInvite(this.database, this.hashOf(token), viewer) : null;
  }

  /**
   * Only the invited address can accept, signed in, and only one of two concurrent accepts succeeds. Returns the
   * session's new token if the role has changed.
   */
  async accept(token: string, actor: Actor): Promise<string | null> {
    if (!TOKEN_FORMAT.test(token)) throw fault('invalid_token');
    return this.database.transaction(async (tx) => {
      await lockRoles(tx);
      const invite = await acceptInvite(tx, this.hashOf(token), actor.email);
      if (invite === undefined) throw fault('invalid_token');
      const accounts = tx.getRepository(UserAccount);
      const lock = { mode: 'pessimistic_write' } as const;
      const account = await accounts.findOneOrFail({ where: { id: actor.userId }, lock });
      if (account.organisationId !== null && account.organisationId !== invite.organisationId) {
        throw fault('conflict', {
          message: 'This account belongs to another organisation already.',
          details: { reason: 'other-organisation' },
        });
      }
      const { organisationId, departmentId } = invite;
      const role = await offeredRole(tx, invite);
      await refuseUnlinkedUser(tx, organisationId, account.id);
      // An invitation only adds rights: a user with more rights here keeps them.
      const keepsRights =
        account.organisationId === organisationId || atLeast(account.role, 'platform_admin');
      const grantedRole = keepsRights && canGrant(account.role, role) ? account.role : role;
      const version = account.version + 1;
      await accounts.update(account.id, { organisationId, departmentId, role: grantedRole, version });
      await this.activity.write(tx, {
        action: 'invite.accepted',
        object: { type: 'invite', id: invite.id, label: account.email },
        actor: actorOf(account),
        concerns: { userId: account.id, organisationId, departmentId },
        changes: {
          role: [account.role, grantedRole],
          organisation: [account.organisationId, organisationId],
        },
      });
      return grantedRole === account.role ? null : this.sessions.renew(tx, account.id, actor.sessionId);
    });
  }

  private hashOf(token: string): Buffer {
    return createHmac('sha256', this.settings.sessionSecret).update(`invite:${token}`).digest();
  }
}

/** Returns the role that the sender can grant now; throws if the sender can no longer invite here. */
async function offeredRole(tx: Tx, invite: AcceptedInvite): Promise<UserRole> {
  const sender = await tx.getRepository(UserAccount).findOneBy({ id: invite.invitedBy, status: 'active' });
  const scope = sender === null ? null : scopeOf({ ...sender, userId: sender.id });
  const canInvite =
    scope?.kind === 'platform' ||
    (scope?.kind === 'organisation' && scope.organisationId === invite.organisationId) ||
    (scope?.kind === 'department' && scope.departmentId === invite.departmentId);
  if (sender === null || !canInvite)
    throw fault('invalid_token', {
      message: 'The sender of this invitation may no longer invite people here. Ask for another one.',
      details: { reason: 'sender-right' },
    });
  return canGrant(sender.role, invite.role) ? invite.role : sender.role;
}

/** An organisation that signs in through a provider accepts only users with a linked provider account. */
async function refuseUnlinkedUser(tx: Tx, organisationId: number, userId: number): Promise<void> {
  const isProviderOnly = await tx.getRepository(Organisation).existsBy({ id: organisationId, ssoOnly: true });
  if (isProviderOnly && !(await hasLinkedIdentity(tx, userId)))
    throw fault('sso_only', {
      message: 'This organisation signs in through its identity provider. Sign in there first.',
      details: { reason: 'provider-first' },
    });
}
