import type { Scope } from '../../kernel';
import {
  type Database,
  Keyset,
  type Page,
  type PageRequest,
  readRows,
  type TableRow,
  type Tx,
} from '../../platform';

const COLUMNS = 'i.id, i.email, i.role, i.organisation_id, i.department_id, i.expires_at';

type InviteState = 'pending' | 'accepted' | 'revoked' | 'expired';

export interface ListedInvite extends TableRow<'invite', typeof COLUMNS> {
  readonly organisation: string;
  readonly state: InviteState;
  readonly invitedBy: string;
}

const newestFirst = new Keyset([{ sql: 'i.id', kind: 'integer' }], 'descending');

const selection = `
  SELECT ${COLUMNS}, o.name AS organisation, coalesce(nullif(u.display_name, ''), u.email) AS invited_by,
         CASE WHEN i.revoked_at IS NOT NULL THEN 'revoked' WHEN i.accepted_at IS NOT NULL THEN 'accepted'
              WHEN i.expires_at <= now() THEN 'expired' ELSE 'pending' END AS state, ${newestFirst.positions}
    FROM invite i JOIN organisation o ON o.id = i.organisation_id JOIN user_account u ON u.id = i.invited_by`;

export async function invitePage(
  database: Database,
  scope: Scope,
  filter: PageRequest,
): Promise<Page<ListedInvite>> {
  const within = invitesWithin(scope, 1);
  const page = newestFirst.clause(filter, 1 + within.parameters.length);
  const rows = await database.rows<ListedInvite>(
    `${selection} WHERE ${within.sql} AND ${page.where} ORDER BY ${page.orderBy} LIMIT ${page.limit}`,
    [...within.parameters, ...page.parameters],
  );
  return newestFirst.page(rows, filter);
}

export async function lockInvite(tx: Tx, scope: Scope, id: number): Promise<ListedInvite | undefined> {
  const within = invitesWithin(scope, 2);
  const [invite] = await readRows<ListedInvite>(
    tx,
    `${selection} WHERE i.id = $1 AND ${within.sql} FOR UPDATE OF i`,
    [id, ...within.parameters],
  );
  return invite;
}

/** Returns the organisation's name, locked against removal until commit; undefined if the department is not in it. */
export async function shareOrganisationName(
  tx: Tx,
  organisationId: number,
  departmentId: number | null,
): Promise<string | undefined> {
  const [organisation] = await tx.query<TableRow<'organisation', 'name'>[]>(
    `SELECT o.name FROM organisation o WHERE o.id = $1 AND ($2::integer IS NULL OR EXISTS (
        SELECT FROM department d WHERE d.id = $2 AND d.organisation_id = o.id)) FOR KEY SHARE`,
    [organisationId, departmentId],
  );
  return organisation?.name;
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
