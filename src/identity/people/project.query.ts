import type { Scope } from '../../kernel';
import { type Database, Keyset, type Page, type PageRequest, type TableRow, type Tx } from '../../platform';
import { projectsWithin, usersWithin } from './scope-conditions';

const COLUMNS = 'p.id, p.name, p.organisation_id, p.billing_user_id, p.created_at, p.archived_at, p.version';

export interface ListedProject extends TableRow<'project', typeof COLUMNS> {
  readonly organisation: string | null;
  readonly billingUser: string | null;
  readonly createdBy: string;
  readonly members: number;
  readonly keys: number;
}

export interface ProjectFilter extends PageRequest {
  readonly text?: string | null;
  readonly organisationId?: number | null;
  readonly archived?: boolean;
}

export interface ListedMember {
  readonly id: number;
  readonly name: string;
  readonly email: string;
  readonly addedAt: Date;
}

const newestFirst = new Keyset([{ sql: 'p.id', kind: 'integer' }], 'descending');

const selectionFrom = (projects: string): string => `
  SELECT ${COLUMNS}, ${newestFirst.positions}, o.name AS organisation, payer.email AS billing_user, maker.email AS created_by,
         (SELECT count(*)::integer FROM project_member m WHERE m.project_id = p.id) AS members,
         (SELECT count(*)::integer FROM api_key k WHERE k.project_id = p.id AND k.status = 'active') AS keys
    FROM ${projects} p LEFT JOIN organisation o ON o.id = p.organisation_id
    LEFT JOIN user_account payer ON payer.id = p.billing_user_id JOIN user_account maker ON maker.id = p.created_by`;

const selection = selectionFrom('project');

const MAX_MEMBERS = 500;

export async function projectPage(
  database: Database,
  scope: Scope,
  filter: ProjectFilter,
): Promise<Page<ListedProject>> {
  const within = projectsWithin(scope, 5);
  const page = newestFirst.clause(filter, 5 + within.parameters.length);
  const rows = await database.rows<ListedProject>(
    selectionFrom(`(
      SELECT p.* FROM project p WHERE ($1::text IS NULL OR strpos(lower(p.name), lower($1)) > 0)
         AND ($2::integer IS NULL OR p.organisation_id = $2) AND (p.archived_at IS NOT NULL) = $3
         AND ${within.sql} AND ${page.where} ORDER BY ${page.orderBy} LIMIT $4)`) +
      ` ORDER BY ${page.orderBy}`,
    [
      filter.text ?? null,
      filter.organisationId ?? null,
      filter.archived ?? false,
      page.limit,
      ...within.parameters,
      ...page.parameters,
    ],
  );
  return newestFirst.page(rows, filter);
}

export async function findProject(
  database: Database,
  scope: Scope,
  id: number,
): Promise<ListedProject | undefined> {
  const within = projectsWithin(scope, 2);
  const [row] = await database.rows<ListedProject>(`${selection} WHERE p.id = $1 AND ${within.sql}`, [
    id,
    ...within.parameters,
  ]);
  return row;
}

export function listMembers(database: Database, projectId: number): Promise<ListedMember[]> {
  return database.rows<ListedMember>(
    `SELECT u.id, u.display_name AS name, u.email, m.added_at FROM project_member m
       JOIN user_account u ON u.id = m.user_id WHERE m.project_id = $1 ORDER BY lower(u.email) LIMIT $2`,
    [projectId, MAX_MEMBERS],
  );
}

/** Returns false if the scope has no such project. */
export async function lockProject(tx: Tx, scope: Scope, id: number): Promise<boolean> {
  const within = projectsWithin(scope, 2);
  const rows = await tx.query<unknown[]>(
    `SELECT 1 FROM project p WHERE p.id = $1 AND ${within.sql} FOR UPDATE`,
    [id, ...within.parameters],
  );
  return rows.length > 0;
}

/** Returns the address of an active user of the scope, locked against removal until commit. */
export async function shareUser(
  tx: Tx,
  scope: Scope,
  userId: number,
  organisationId: number | null,
): Promise<string | undefined> {
  const within = usersWithin(scope, 3);
  const [user] = await tx.query<TableRow<'user_account', 'email'>[]>(
    `SELECT u.email FROM user_account u WHERE u.id = $1 AND u.status = 'active'
        AND ($2::integer IS NULL OR u.organisation_id = $2) AND ${within.sql} FOR KEY SHARE`,
    [userId, organisationId, ...within.parameters],
  );
  return user?.email;
}
