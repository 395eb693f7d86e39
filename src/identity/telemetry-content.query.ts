import type { Database } from '../platform';

/** The organisation's decision, or that of a user without one; undefined if there is no such user. */
export async function findContentDecision(
  database: Database,
  userId: number,
): Promise<{ readonly organisation: string | null; readonly isOn: boolean } | undefined> {
  const [row] = await database.rows<{ organisation: string | null; isOn: boolean }>(
    `SELECT o.name AS organisation, coalesce(o.telemetry_content, u.telemetry_content) AS is_on
       FROM user_account u LEFT JOIN organisation o ON o.id = u.organisation_id WHERE u.id = $1`,
    [userId],
  );
  return row;
}
