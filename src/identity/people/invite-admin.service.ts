import { Injectable } from '@nestjs/common';
import { ActivityLog } from '../../audit';
import { fault, canGrant, type UserRole, type Scope } from '../../kernel';
import {
  Database,
  Keyset,
  type Page,
  type PageRequest,
  readRows,
  type TableRow,
  type Tx,
} from '../../platform';
import { hasAddress } from '../account-address';
import { InvitesService } from '../accounts';
import { notFoundFault, type ActorContext } from './acting';

const COLUMNS = 'i.id, i.email, i.role, i.organisation_id, i.department_id, i.expires_at';

type InviteState = 'pending' | 'accepted' | 'revoked' | 'expired';

export interface ListedInvite extends TableRow<'invite', typeof COLUMNS> {
  readonly organisation: string;
  readonly state: InviteState;
  readonly invitedBy: string;
}

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

const newestFirst = new Keyset([{ sql: 'i.id', kind: 'integer' }], 'descending');

const selection = `
  SELECT ${COLUMNS}, o.name AS organisation, coalesce(nullif(u.display_name, ''), u.email) AS invited_by,
         CASE WHEN i.revoked_at IS NOT NULL THEN 'revoked' WHEN i.accepted_at IS NOT NULL THEN 'accepted'
              WHEN i.expires_at <= now() THEN 'expired' ELSE 'pending' END AS state, ${newestFirst.positions}
    FROM invite i JOIN organisation o ON o.id = i.organisation_id JOIN user_account u ON u.id = i.invited_by`;

/** Creates, resends and revokes the invitations of an administrator's scope. */
@Injectable()
export class InviteAdminService {
  constructor(
    private readonly database: Database,
    private readonly invites: InvitesService,
    private readonly activity: ActivityLog,
  ) {}

  async page(scope: Scope, filter: PageRequest): Promise<Page<ListedInvite>> {
    const within = invitesWithin(scope, 1);
    const page = newestFirst.clause(filter, 1 + within.parameters.length);
    const rows = await this.database.rows<ListedInvite>(
      `${selection} WHERE ${within.sql} AND ${page.where} ORDER BY ${page.orderBy} LIMIT ${page.limit}`,
      [...within.parameters, ...page.parameters],
    );
    return newestFirst.page(rows, filter);
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
      await tx.query('UPDATE invite SET revoked_at = now() WHERE id = $1', [id]);
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
    const [replaced] = await tx.query<[TableRow<'invite', 'id'>[], number]>(
      `UPDATE invite SET revoked_at = now() WHERE organisation_id = $1 AND ${hasAddress('email', '$2')}
          AND accepted_at IS NULL AND revoked_at IS NULL RETURNING id`,
      [input.organisationId, input.email],
    );
    return {
      ...(await this.invites.create(
        tx,
        actor,
        input,
        replaced.map(({ id }) => id),
      )),
      organisation,
      organisationId: input.organisationId,
    };
  }
}

function invitesWithin(scope: Scope, first: number): { sql: string; parameters: number[] } {
  switch (scope.kind) {
    case 'platform':
      return { sql: 'true', parameters: [] };
    case 'organisation':
      return { sql: `i.organisation_id = $${first}::integer`, parameters: [scope.organisationId] };
    case 'department':
      return { sql: `i.department_id = $${first}::integer`, parameters: [scope.departmentId] };
    case 'user':
      return { sql: 'false', parameters: [] };
  }
}

async function lockPendingInvite(tx: Tx, scope: Scope, id: number): Promise<ListedInvite> {
  const within = invitesWithin(scope, 2);
  const [invite] = await readRows<ListedInvite>(
    tx,
    `${selection} WHERE i.id = $1 AND ${within.sql} FOR UPDATE OF i`,
    [id, ...within.parameters],
  );
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
  const [organisation] = await tx.query<TableRow<'organisation', 'name'>[]>(
    `SELECT o.name FROM organisation o WHERE o.id = $1 AND ($2::integer IS NULL OR EXISTS (
        SELECT FROM department d WHERE d.id = $2 AND d.organisation_id = o.id)) FOR KEY SHARE`,
    [input.organisationId, input.departmentId],
  );
  if (organisation === undefined) throw notFoundFault('organisation or department');
  return organisation.name;
}

async function refuseMember(tx: Tx, { email, organisationId }: InviteInput): Promise<void> {
  const rows = await tx.query<unknown[]>(
    `SELECT 1 FROM user_account WHERE ${hasAddress('email', '$1')} AND organisation_id = $2`,
    [email, organisationId],
  );
  if (rows.length === 0) return;
  throw fault('conflict', {
    message: `${email} belongs to the organisation already.`,
    details: { reason: 'member-already', email },
  });
}
