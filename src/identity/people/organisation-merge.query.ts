import type { UserRole } from '../../kernel';
import type { Database, TableRow } from '../../platform';

export type MergeMember = TableRow<'user_account', 'id, email, role'> & { readonly name: string };

export interface MergeTotals {
  readonly name: string;
  readonly users: number;
  readonly keys: number;
  readonly projects: number;
  readonly departments: number;
  readonly billingUserId: number | null;
  readonly billingUser: string | null;
}

export async function findMergeTotals(database: Database, id: number): Promise<MergeTotals | undefined> {
  const [row] = await database.rows<MergeTotals>(
    `SELECT o.name, o.billing_user_id,
            (SELECT u.email FROM user_account u WHERE u.id = o.billing_user_id) AS billing_user,
            (SELECT count(*)::integer FROM user_account u
              WHERE u.organisation_id = o.id AND u.status <> 'deleted') AS users,
            (SELECT count(*)::integer FROM api_key k WHERE k.organisation_id = o.id) AS keys,
            (SELECT count(*)::integer FROM project p WHERE p.organisation_id = o.id) AS projects,
            (SELECT count(*)::integer FROM department d WHERE d.organisation_id = o.id) AS departments
       FROM organisation o WHERE o.id = $1`,
    [id],
  );
  return row;
}

export function listMergeMembers(
  database: Database,
  organisationId: number,
  limit: number,
  roles: readonly UserRole[] | null = null,
): Promise<MergeMember[]> {
  return database.query<MergeMember>(
    `SELECT id, display_name AS name, email, role FROM user_account
      WHERE organisation_id = $1 AND status <> 'deleted' AND ($2::text[] IS NULL OR role = ANY ($2::text[]))
      ORDER BY lower(email) LIMIT $3`,
    [organisationId, roles, limit],
  );
}

/** Ids of the payers that a merge replaces. */
export async function listFormerPayers(
  database: Database,
  organisationIds: readonly number[],
  nextPayerId: number,
): Promise<number[]> {
  const rows = await database.query<{ id: number }>(
    `SELECT DISTINCT billing_user_id AS id FROM organisation
      WHERE id = ANY ($1::integer[]) AND billing_user_id <> $2`,
    [organisationIds, nextPayerId],
  );
  return rows.map(({ id }) => id);
}
