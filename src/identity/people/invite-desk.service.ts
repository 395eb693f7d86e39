import { Injectable } from '@nestjs/common';
import { ActivityLog } from '../../audit';
import { fault, mayGrant, type Role, type Scope } from '../../kernel';
import { Database, Keyset, type Page, type PageRequest, readRows, type Row, type Tx } from '../../platform';
import { hasAddress } from '../account-address';
import { InvitesService } from '../accounts';
import { absent, type Acting } from './acting';

const COLUMNS = 'i.id, i.email, i.role, i.organisation_id, i.department_id, i.expires_at';

type InviteState = 'pending' | 'accepted' | 'revoked' | 'expired';

export interface ListedInvite extends Row<'invite', typeof COLUMNS> {
  readonly organisation: string;
  readonly state: InviteState;
  readonly invitedBy: string;
}

export interface WantedInvite {
  readonly email: string;
  readonly role: Role;
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

/** The invitations of an administrator's scope: made, sent again, taken back. */
@Injectable()
export class InviteDesk {
  constructor(
    private readonly database: Database,
    private readonly invites: InvitesService,
    private readonly activity: ActivityLog,
  ) {}

  /** The newest first. */
  async page(scope: Scope, filter: PageRequest): Promise<Page<ListedInvite>> {
    const within = invitesWithin(scope, 1);
    const page = newestFirst.clause(filter, 1 + within.parameters.length);
    const rows = await this.database.rows<ListedInvite>(
      `${selection} WHERE ${within.sql} AND ${page.where} ORDER BY ${page.orderBy} LIMIT ${page.limit}`,
      [...within.parameters, ...page.parameters],
    );
    return newestFirst.page(rows, filter);
  }

  /** It creates all of them or none. An earlier invitation of the same address ends with the new one. */
  create(acting: Acting, wanted: readonly WantedInvite[]): Promise<SentInvite[]> {
    return this.database.transaction(async (tx) => {
      const sent: SentInvite[] = [];
      for (const invite of wanted) sent.push(await this.createOne(tx, acting, invite));
      return sent;
    });
  }

  /** A new link; the one before stops working. */
  resend(acting: Acting, id: number): Promise<SentInvite & ListedInvite> {
    return this.database.transaction(async (tx) => {
      const found = await pending(tx, acting.scope, id);
      const { email, role, organisationId, departmentId } = found;
      const sent = await this.createOne(tx, acting, { email, role, organisationId, departmentId });
      return { ...found, ...sent };
    });
  }

  revoke({ actor, scope }: Acting, id: number): Promise<void> {
    return this.database.transaction(async (tx) => {
      const invite = await pending(tx, scope, id);
      if (!mayGrant(actor.role, invite.role)) throw fault('permission_denied');
      await tx.query('UPDATE invite SET revoked_at = now() WHERE id = $1', [id]);
      await this.activity.write(tx, {
        action: 'invite.revoked',
        object: { type: 'invite', id, label: invite.email },
        concerns: { organisationId: invite.organisationId, departmentId: invite.departmentId },
      });
    });
  }

  private async createOne(tx: Tx, { actor, scope }: Acting, wanted: WantedInvite): Promise<SentInvite> {
    const organisation = await organisationFor(tx, scope, wanted);
    await refuseMember(tx, wanted);
    const [replaced] = await tx.query<[Row<'invite', 'id'>[], number]>(
      `UPDATE invite SET revoked_at = now() WHERE organisation_id = $1 AND ${hasAddress('email', '$2')}
          AND accepted_at IS NULL AND revoked_at IS NULL RETURNING id`,
      [wanted.organisationId, wanted.email],
    );
    return {
      ...(await this.invites.create(
        tx,
        actor,
        wanted,
        replaced.map(({ id }) => id),
      )),
      organisation,
      organisationId: wanted.organisationId,
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

async function pending(tx: Tx, scope: Scope, id: number): Promise<ListedInvite> {
  const within = invitesWithin(scope, 2);
  const [found] = await readRows<ListedInvite>(
    tx,
    `${selection} WHERE i.id = $1 AND ${within.sql} FOR UPDATE OF i`,
    [id, ...within.parameters],
  );
  if (found === undefined) throw absent('invitation');
  if (found.state === 'pending' || found.state === 'expired') return found;
  const reason = found.state === 'accepted' ? { reason: 'invite-accepted' } : { reason: 'invite-revoked' };
  throw fault('conflict', { message: `This invitation is ${found.state}.`, details: reason });
}

/** One invites into one's own organisation, and as the administrator of a department into that one. */
async function organisationFor(tx: Tx, scope: Scope, wanted: WantedInvite): Promise<string> {
  const isForeign =
    (scope.kind === 'organisation' || scope.kind === 'department') &&
    (scope.organisationId !== wanted.organisationId ||
      (scope.kind === 'department' && scope.departmentId !== wanted.departmentId));
  if (isForeign || scope.kind === 'user') throw fault('permission_denied');
  const [found] = await tx.query<Row<'organisation', 'name'>[]>(
    `SELECT o.name FROM organisation o WHERE o.id = $1 AND ($2::integer IS NULL OR EXISTS (
        SELECT FROM department d WHERE d.id = $2 AND d.organisation_id = o.id)) FOR KEY SHARE`,
    [wanted.organisationId, wanted.departmentId],
  );
  if (found === undefined) throw absent('organisation or department');
  return found.name;
}

async function refuseMember(tx: Tx, { email, organisationId }: WantedInvite): Promise<void> {
  const found = await tx.query<unknown[]>(
    `SELECT 1 FROM user_account WHERE ${hasAddress('email', '$1')} AND organisation_id = $2`,
    [email, organisationId],
  );
  if (found.length === 0) return;
  throw fault('conflict', {
    message: `${email} belongs to the organisation already.`,
    details: { reason: 'member-already', email },
  });
}
