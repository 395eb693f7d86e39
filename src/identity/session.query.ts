import type { Database, TableRow } from '../platform';

export type SessionRow = TableRow<'session', 'public_id, user_id, admin_role, admin_organisation_id'> &
  TableRow<
    'user_account',
    'email, display_name, role, status, organisation_id, department_id, preferred_language, time_zone'
  > & {
    /** Computed by the database, whose clock wrote the time. */
    readonly idleMs: number;
    readonly organisationName: string | null;
    readonly adminOrganisationName: string | null;
    readonly hasSecondFactor: boolean;
  };

export type OpenSession = TableRow<'session', 'public_id, created_at, last_seen_at, address, user_agent'>;

/** Reads the session with its user, organisation and second factor in one statement, because every page needs them. */
export async function findSession(
  database: Database,
  tokenHash: Buffer,
  host: string,
): Promise<SessionRow | undefined> {
  const [row] = await database.rows<SessionRow>(
    `SELECT s.public_id, s.user_id, u.email, u.display_name, u.role, u.status,
            u.organisation_id, u.department_id, u.preferred_language, u.time_zone, o.name AS organisation_name,
            s.admin_role, s.admin_organisation_id, a.name AS admin_organisation_name,
            EXISTS (SELECT 1 FROM second_factor f WHERE f.user_id = u.id AND f.enabled_at IS NOT NULL)
              AS has_second_factor,
            (extract(epoch FROM clock_timestamp() - s.last_seen_at) * 1000)::float8 AS idle_ms
     FROM session s JOIN user_account u ON u.id = s.user_id
     LEFT JOIN organisation o ON o.id = u.organisation_id
     LEFT JOIN organisation a ON a.id = s.admin_organisation_id
     WHERE s.token_hash = $1 AND s.host = $2 AND s.expires_at > now()`,
    [tokenHash, host],
  );
  return row;
}

/** Most recently used first. */
export function listOpenSessions(database: Database, userId: number, limit: number): Promise<OpenSession[]> {
  return database.rows<OpenSession>(
    `SELECT public_id, created_at, last_seen_at, host(address) AS address, user_agent
     FROM session WHERE user_id = $1 AND expires_at > now() ORDER BY last_seen_at DESC LIMIT $2`,
    [userId, limit],
  );
}
