import type { Scope } from '../../kernel';
import type { Database, TableRow, Tx } from '../../platform';
import { departmentsWithin, organisationsWithin } from './scope-conditions';

const COLUMNS = 'd.id, d.name, d.organisation_id, d.created_at, d.version';

export interface ListedDepartment extends TableRow<'department', typeof COLUMNS> {
  readonly organisation: string;
  readonly users: number;
  readonly keys: number;
}

const MAX_DEPARTMENTS = 500;

/** Sorted by organisation and name, without pages, because an installation has few departments. */
export function listDepartments(
  database: Database,
  scope: Scope,
  organisationId: number | null,
): Promise<ListedDepartment[]> {
  const within = departmentsWithin(scope, 3);
  return database.rows<ListedDepartment>(
    `SELECT ${COLUMNS}, o.name AS organisation,
            (SELECT count(*)::integer FROM user_account u WHERE u.department_id = d.id) AS users,
            (SELECT count(*)::integer FROM api_key k WHERE k.department_id = d.id AND k.status = 'active') AS keys
       FROM department d JOIN organisation o ON o.id = d.organisation_id
      WHERE ($1::integer IS NULL OR d.organisation_id = $1) AND ${within.sql}
      ORDER BY lower(o.name), lower(d.name), d.id LIMIT $2`,
    [organisationId, MAX_DEPARTMENTS, ...within.parameters],
  );
}

/** Returns false if the scope has no such department. */
export async function lockDepartment(tx: Tx, scope: Scope, id: number): Promise<boolean> {
  const within = departmentsWithin(scope, 2);
  const rows = await tx.query<unknown[]>(
    `SELECT 1 FROM department d WHERE d.id = $1 AND ${within.sql} FOR UPDATE`,
    [id, ...within.parameters],
  );
  return rows.length > 0;
}

/** Keeps an organisation from being removed until commit. Returns false if the scope has no such organisation. */
export async function shareOrganisation(tx: Tx, scope: Scope, id: number | null): Promise<boolean> {
  const within = organisationsWithin(scope, 2);
  const rows = await tx.query<unknown[]>(
    `SELECT 1 FROM organisation o WHERE o.id = $1 AND ${within.sql} FOR KEY SHARE`,
    [id, ...within.parameters],
  );
  return rows.length > 0;
}

/** Users and keys of any status. */
export async function countDepartmentMembers(tx: Tx, id: number): Promise<{ users: number; keys: number }> {
  const [counts] = await tx.query<{ users: number; keys: number }[]>(
    `SELECT (SELECT count(*)::integer FROM user_account WHERE department_id = $1) AS users,
            (SELECT count(*)::integer FROM api_key WHERE department_id = $1) AS keys`,
    [id],
  );
  return counts!;
}
