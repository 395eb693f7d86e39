import { createHmac, randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { ActivityLog, changesOf } from '../../audit';
import { type Actor, atLeast, DAY_MS, fault, mayGrant, type Role, scopeOf } from '../../kernel';
import { Database, readRows, type Row, Settings, type Tx } from '../../platform';
import { hasAddress } from '../account-address';
import { actorOf } from '../activity-actor';
import { lockRoles } from '../role-lock';
import { SessionsService } from '../sessions.service';
import { UserAccount } from '../user-account.entity';
import { Invite } from './invite.entity';
import { hasLinkedIdentity } from './provider-only';

const WEEK_MS = 7 * DAY_MS;
const FORM = /^[\w-]{43}$/;

export interface NewInvite {
  readonly email: string;
  readonly role: Role;
  readonly organisationId: number;
  readonly departmentId: number | null;
}

export interface InviteShown {
  readonly state: 'pending' | 'accepted' | 'revoked' | 'expired';
  /** Somebody with another address looks at it. */
  readonly isForAnother: boolean;
  readonly email: string;
  readonly role: Role;
  readonly organisation: string;
  readonly invitedBy: string;
  readonly expiresAt: Date;
}

const ACCEPTED = 'id, role, organisation_id, department_id, invited_by';
type AcceptedInvite = Row<'invite', typeof ACCEPTED>;

@Injectable()
export class InvitesService {
  constructor(
    private readonly database: Database,
    private readonly sessions: SessionsService,
    private readonly activity: ActivityLog,
    private readonly settings: Settings,
  ) {}

  /** Returns the row's number and what the mail carries. The caller has checked whose organisation it is. */
  async create(
    tx: Tx,
    actor: Actor,
    wanted: NewInvite,
    replaced: readonly number[] = [],
  ): Promise<{ id: number; token: string }> {
    if (!mayGrant(actor.role, wanted.role)) throw fault('permission_denied');
    const token = randomBytes(32).toString('base64url');
    const invites = tx.getRepository(Invite);
    const invite = invites.create({
      ...wanted,
      tokenHash: this.hashOf(token),
      invitedBy: actor.userId,
      expiresAt: new Date(Date.now() + WEEK_MS),
    });
    await invites.insert(invite);
    await this.activity.write(tx, {
      action: 'invite.created',
      object: { type: 'invite', id: invite.id, label: invite.email },
      concerns: { organisationId: wanted.organisationId, departmentId: wanted.departmentId },
      changes: changesOf(null, {
        role: wanted.role,
        ...(replaced.length === 0 ? {} : { replaced_invites: replaced }),
      }),
    });
    return { id: invite.id, token };
  }

  /** `viewer` is the address of the person who looks, if somebody does. */
  async find(token: string, viewer: string | null): Promise<InviteShown | null> {
    if (!FORM.test(token)) return null;
    const [shown] = await this.database.rows<InviteShown>(
      `SELECT CASE WHEN i.revoked_at IS NOT NULL THEN 'revoked' WHEN i.accepted_at IS NOT NULL THEN 'accepted'
                   WHEN i.expires_at <= now() THEN 'expired' ELSE 'pending' END AS state,
              i.email, i.role, o.name AS organisation, u.display_name AS invited_by, i.expires_at,
              coalesce(NOT ${hasAddress('i.email', '$2::text')}, false) AS is_for_another
       FROM invite i JOIN organisation o ON o.id = i.organisation_id JOIN user_account u ON u.id = i.invited_by
       WHERE i.token_hash = $1`,
      [this.hashOf(token), viewer],
    );
    return shown ?? null;
  }

  /**
   * Only for the invited address, signed in. Of two concurrent accepts, one succeeds. Returns the new id of the
   * session where the role has changed.
   */
  async accept(token: string, actor: Actor): Promise<string | null> {
    if (!FORM.test(token)) throw fault('invalid_token');
    return this.database.transaction(async (tx) => {
      await lockRoles(tx);
      const [invite] = await readRows<AcceptedInvite>(
        tx,
        `UPDATE invite SET accepted_at = now()
         WHERE token_hash = $1 AND ${hasAddress('email', '$2')} AND accepted_at IS NULL AND revoked_at IS NULL
           AND expires_at > now()
         RETURNING ${ACCEPTED}`,
        [this.hashOf(token), actor.email],
      );
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
      await refuseNonMember(tx, organisationId, account.id);
      // An invite only adds: a person with more rights here than it offers keeps them.
      const counts = account.organisationId === organisationId || atLeast(account.role, 'platform_admin');
      const granted = counts && mayGrant(account.role, role) ? account.role : role;
      const version = account.version + 1;
      await accounts.update(account.id, { organisationId, departmentId, role: granted, version });
      await this.activity.write(tx, {
        action: 'invite.accepted',
        object: { type: 'invite', id: invite.id, label: account.email },
        actor: actorOf(account),
        concerns: { userId: account.id, organisationId, departmentId },
        changes: { role: [account.role, granted], organisation: [account.organisationId, organisationId] },
      });
      return granted === account.role ? null : this.sessions.renew(tx, account.id, actor.sessionId);
    });
  }

  private hashOf(token: string): Buffer {
    return createHmac('sha256', this.settings.sessionSecret).update(`invite:${token}`).digest();
  }
}

/** An invitation offers what its sender may grant by now: a sender who may no longer invite here offers nothing. */
async function offeredRole(tx: Tx, invite: AcceptedInvite): Promise<Role> {
  const sender = await tx.getRepository(UserAccount).findOneBy({ id: invite.invitedBy, status: 'active' });
  const scope = sender === null ? null : scopeOf({ ...sender, userId: sender.id });
  const mayInvite =
    scope?.kind === 'platform' ||
    (scope?.kind === 'organisation' && scope.organisationId === invite.organisationId) ||
    (scope?.kind === 'department' && scope.departmentId === invite.departmentId);
  if (sender === null || !mayInvite)
    throw fault('invalid_token', {
      message: 'The sender of this invitation may no longer invite people here. Ask for another one.',
      details: { reason: 'sender-right' },
    });
  return mayGrant(sender.role, invite.role) ? invite.role : sender.role;
}

/** An organisation that signs in through a provider takes only people whose provider account is linked. */
async function refuseNonMember(tx: Tx, organisationId: number, userId: number): Promise<void> {
  const rows = await tx.query<unknown[]>('SELECT 1 FROM organisation WHERE id = $1 AND sso_only', [
    organisationId,
  ]);
  if (rows.length > 0 && !(await hasLinkedIdentity(tx, userId)))
    throw fault('sso_only', {
      message: 'This organisation signs in through its identity provider. Sign in there first.',
      details: { reason: 'provider-first' },
    });
}
