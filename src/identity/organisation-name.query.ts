import type { Database, TableRow } from '../platform';

export type OrganisationName = TableRow<'organisation', 'id, name'>;

/** The first organisations by name, and the selected one in any case. */
export function listOrganisationNames(
  database: Database,
  selectedId: number | null,
  limit: number,
): Promise<OrganisationName[]> {
  return database.query<OrganisationName>(
    `SELECT id, name FROM ((SELECT id, name FROM organisation ORDER BY lower(name), id LIMIT $2)
       UNION SELECT id, name FROM organisation WHERE id = $1) AS listed ORDER BY lower(name), id`,
    [selectedId, limit],
  );
}
