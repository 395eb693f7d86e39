import type { Scope } from '../../kernel';
import { type Database, Keyset, type Page, type PageRequest, type TableRow, type Tx } from '../../platform';
import { organisationsWithin } from './scope-conditions';

const COLUMNS =
  'o.id, o.name, o.slug, o.billing_exempt, o.billing_user_id, o.sso_only, o.unknown_fields, o.created_at, o.version';

export interface ListedOrganisation extends TableRow<'organisation', typeof COLUMNS> {
  readonly billingUser: string | null;
  readonly users: number;
  readonly keys: number;
  readonly departments: number;
  /** Excludes archived projects. */
  readonly projects: number;
}

export interface OrganisationFilter extends PageRequest {
  readonly text?: string | null;
}

const byId = new Keyset([{ sql: 'o.id', kind: 'integer' }], 'ascending');

const selection = `
  SELECT ${COLUMNS}, ${byId.positions}, payer.email AS billing_user,
         (SELECT count(*)::integer FROM user_account u WHERE u.organisation_id = o.id AND u.status <> 'deleted') AS users,
         (SELECT count(*)::integer FROM department d WHERE d.organisation_id = o.id) AS departments,
         (SELECT count(*)::integer FROM project p WHERE p.organisation_id = o.id AND p.archived_at IS NULL) AS projects,
         (SELECT count(*)::integer FROM api_key k LEFT JOIN user_account u ON u.id = k.user_id
           WHERE k.status = 'active' AND coalesce(k.organisation_id, u.organisation_id) = o.id) AS keys
    FROM organisation o LEFT JOIN user_account payer ON payer.id = o.billing_user_id`;

export async function organisationPage(
  database: Database,
  scope: Scope,
  filter: OrganisationFilter,
): Promise<Page<ListedOrganisation>> {
  const within = organisationsWithin(scope, 3);
  const page = byId.clause(filter, 3 + within.parameters.length);
  const rows = await database.rows<ListedOrganisation>(
    `${selection} WHERE ($1::text IS NULL OR strpos(lower(o.name || ' ' || o.slug), lower($1)) > 0)
       AND ${within.sql} AND ${page.where} ORDER BY ${page.orderBy} LIMIT $2`,
    [filter.text ?? null, page.limit, ...within.parameters, ...page.parameters],
  );
  return byId.page(rows, filter);
}

export async function findOrganisation(
  database: Database,
  scope: Scope,
  id: number,
): Promise<ListedOrganisation | undefined> {
  const within = organisationsWithin(scope, 2);
  const [row] = await database.rows<ListedOrganisation>(`${selection} WHERE o.id = $1 AND ${within.sql}`, [
    id,
    ...within.parameters,
  ]);
  return row;
}

/** Returns false if the scope has no such organisation. */
export async function lockOrganisationRow(tx: Tx, scope: Scope, id: number): Promise<boolean> {
  const within = organisationsWithin(scope, 2);
  const rows = await tx.query<unknown[]>(
    `SELECT 1 FROM organisation o WHERE o.id = $1 AND ${within.sql} FOR UPDATE`,
    [id, ...within.parameters],
  );
  return rows.length > 0;
}

type OrganisationCounts = Record<'users' | 'projects' | 'keys' | 'departments', number>;

/** Users, projects and keys of any status. */
export async function countOrganisationMembers(tx: Tx, id: number): Promise<OrganisationCounts> {
  const [counts] = await tx.query<OrganisationCounts[]>(
    `SELECT (SELECT count(*)::integer FROM user_account WHERE organisation_id = $1) AS users,
            (SELECT count(*)::integer FROM project WHERE organisation_id = $1) AS projects,
            (SELECT count(*)::integer FROM api_key WHERE organisation_id = $1) AS keys,
            (SELECT count(*)::integer FROM department WHERE organisation_id = $1) AS departments`,
    [id],
  );
  return counts!;
}
