import type { Database, TableRow } from '../../platform';

export interface Markup {
  readonly factor: number;
  readonly validFrom: Date;
  readonly reason: string | null;
  readonly createdBy: string | null;
  readonly isInForce: boolean;
}

const MAX_ROWS = 100;

/** Latest first. */
export function listMarkups(database: Database, organisationId: number): Promise<Markup[]> {
  return database.rows<Markup>(
    `SELECT m.factor, m.valid_from, m.reason, u.display_name AS created_by,
            m.id IS NOT DISTINCT FROM (SELECT n.id FROM organisation_markup n WHERE n.organisation_id = $1
              AND n.valid_from <= now() ORDER BY n.valid_from DESC LIMIT 1) AS is_in_force
       FROM organisation_markup m LEFT JOIN user_account u ON u.id = m.created_by
      WHERE m.organisation_id = $1 ORDER BY m.valid_from DESC LIMIT ${MAX_ROWS}`,
    [organisationId],
  );
}

export async function findCurrentFactor(
  database: Database,
  organisationId: number,
): Promise<number | undefined> {
  const [row] = await database.query<TableRow<'organisation_markup', 'factor'>>(
    `SELECT factor FROM organisation_markup WHERE organisation_id = $1 AND valid_from <= now()
      ORDER BY valid_from DESC LIMIT 1`,
    [organisationId],
  );
  return row?.factor;
}
