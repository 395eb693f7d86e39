import { Injectable } from '@nestjs/common';
import { ActivityLog } from '../../audit';
import { fault, canGrant, type UserRole, type Scope } from '../../kernel';
import { Database, type Page, type PageRequest, type Tx } from '../../platform';
import { InvitesService, isMember, revokeInvitesTo } from '../accounts';
import { Invite } from '../accounts/invite.entity';
import { notFoundFault, type ActorContext } from './acting';
import { invitePage, type ListedInvite, lockInvite, shareOrganisationName } from './invite.query';

export interface InviteInput {
  readonly email: string;
  readonly role: UserRole;
  readonly organisationId: number;
  readonly departmentId: number | null;
}

export interface SentInvite {
  readonly id: number;
  readonly token: string;
  readonly organisation: string;
  readonly organisationId: number;
}

/** Creates, resends and revokes the invitations of an administrator's scope. */
@Injectable()
export class InviteAdminService {
  constructor(
    private readonly database: Database,
    private readonly invites: InvitesService,
    private readonly activity: ActivityLog,
  ) {}

  page(scope: Scope, filter: PageRequest): Promise<Page<ListedInvite>> {
    return invitePage(this.database, scope, filter);
  }

  /** Creates all invitations or none. A new invitation ends an earlier one for the same address. */
  create(acting: ActorContext, inputs: readonly InviteInput[]): Promise<SentInvite[]> {
    return this.database.transaction(async (tx) => {
      const sent: SentInvite[] = [];
      for (const invite of inputs) sent.push(await this.createOne(tx, acting, invite));
      return sent;
    });
  }

  resend(acting: ActorContext, id: number): Promise<SentInvite & ListedInvite> {
    return this.database.transaction(async (tx) => {
      const invite = await lockPendingInvite(tx, acting.scope, id);
      const { email, role, organisationId, departmentId } = invite;
      const sent = await this.createOne(tx, acting, { email, role, organisationId, departmentId });
      return { ...invite, ...sent };
    });
  }

  revoke({ actor, scope }: ActorContext, id: number): Promise<void> {
    return this.database.transaction(async (tx) => {
      const invite = await lockPendingInvite(tx, scope, id);
      if (!canGrant(actor.role, invite.role)) throw fault('permission_denied');
      await tx.getRepository(Invite).update(id, { revokedAt: () => 'now()' });
      await this.activity.write(tx, {
        action: 'invite.revoked',
        object: { type: 'invite', id, label: invite.email },
        concerns: { organisationId: invite.organisationId, departmentId: invite.departmentId },
      });
    });
  }

  private async createOne(tx: Tx, { actor, scope }: ActorContext, input: InviteInput): Promise<SentInvite> {
    const organisation = await requireOrganisationFor(tx, scope, input);
    await refuseMember(tx, input);
    const { organisationId } = input;
    const replaced = await revokeInvitesTo(tx, organisationId, input.email);
    return { ...(await this.invites.create(tx, actor, input, replaced)), organisation, organisationId };
  }
}

async function lockPendingInvite(tx: Tx, scope: Scope, id: number): Promise<ListedInvite> {
  const invite = await lockInvite(tx, scope, id);
  if (invite === undefined) throw notFoundFault('invitation');
  if (invite.state === 'pending' || invite.state === 'expired') return invite;
  const reason = invite.state === 'accepted' ? { reason: 'invite-accepted' } : { reason: 'invite-revoked' };
  throw fault('conflict', { message: `This invitation is ${invite.state}.`, details: reason });
}

/** Administrators invite into their own organisation, and department administrators into their own department. */
async function requireOrganisationFor(tx: Tx, scope: Scope, input: InviteInput): Promise<string> {
  const isForeign =
    (scope.kind === 'organisation' || scope.kind === 'department') &&
    (scope.organisationId !== input.organisationId ||
      (scope.kind === 'department' && scope.departmentId !== input.departmentId));
  if (isForeign || scope.kind === 'user') throw fault('permission_denied');
  const organisation = await shareOrganisationName(tx, input.organisationId, input.departmentId);
  if (organisation === undefined) throw notFoundFault('organisation or department');
  return organisation;
}

async function refuseMember(tx: Tx, { email, organisationId }: InviteInput): Promise<void> {
  if (!(await isMember(tx, email, organisationId))) return;
  throw fault('conflict', {
    message: `${email} belongs to the organisation already.`,
    details: { reason: 'member-already', email },
  });
}
