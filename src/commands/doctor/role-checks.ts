import { type CheckContext, fail, type CheckFinding, ok, warn } from '../../checks';

interface RoleRights {
  readonly role: string;
  readonly reads: boolean;
  readonly changesPrices: boolean;
  readonly changesSchema: boolean;
  readonly login: string;
  readonly excess: readonly string[];
}

const attributesOf = (role: string): string => `
  SELECT word FROM (VALUES (${role}.rolsuper, 'is a superuser'), (${role}.rolcreaterole, 'creates roles'),
    (${role}.rolcreatedb, 'creates databases'), (${role}.rolreplication, 'replicates'),
    (${role}.rolbypassrls, 'bypasses row security')) AS attribute (has, word) WHERE has`;

/** SQL that leaves the role of the session has the rights of its login, so both are checked. */
export async function checkRoleRights({ database }: CheckContext): Promise<CheckFinding> {
  const what = 'database role';
  const [row] = await database.query<RoleRights>(
    `SELECT current_user AS role, has_table_privilege('model', 'SELECT, INSERT, UPDATE') AS reads,
            has_table_privilege('price', 'UPDATE, DELETE') AS "changesPrices",
            has_schema_privilege('public', 'CREATE') AS "changesSchema", session_user AS login,
            ARRAY(${attributesOf('l')} UNION ALL
                  SELECT 'owns the tables' FROM pg_class
                   WHERE oid = 'model'::regclass AND NOT l.rolsuper AND pg_has_role(l.oid, relowner, 'MEMBER')) AS excess
       FROM pg_roles l WHERE l.rolname = session_user`,
  );
  if (row === undefined || !row.reads)
    return fail(
      what,
      `${row?.role ?? 'unknown'} may not use the tables`,
      'Start the service once; it grants the rights.',
    );
  if (row.changesPrices || row.changesSchema)
    return warn(what, `${row.role} may change more than it has to`, 'Let it work as switchboard_app.');
  if (row.excess.length > 0)
    return warn(
      what,
      `${row.role} works under the login ${row.login}, which ${row.excess.join(', ')}`,
      'Give DATABASE_URL a login without attributes, and MIGRATION_DATABASE_URL the owner: docs/security.md, "Database logins".',
    );
  return ok(what, `${row.role} may do its work and no more`);
}

interface ExtensionSchema {
  readonly schema: string;
  readonly logins: readonly string[] | null;
  readonly excess: readonly string[] | null;
}

/** SQL of an extension runs with the rights of its login. */
export async function checkExtensionLogins({ database }: CheckContext): Promise<CheckFinding> {
  const what = 'extension logins';
  const rows = await database.query<ExtensionSchema>(
    `SELECT n.nspname AS schema, array_agg(l.rolname::text) FILTER (WHERE l.rolcanlogin) AS logins,
            array_agg(l.rolname || ' ' || e.word) FILTER (WHERE e.word IS NOT NULL) AS excess
       FROM pg_namespace n
       LEFT JOIN pg_roles l ON l.rolname ~ ('^extension_' || substr(n.nspname, 5) || '_[0-9a-f]{8}$')
                           AND has_schema_privilege(l.oid, n.oid, 'CREATE')
       LEFT JOIN LATERAL (${attributesOf('l')} UNION ALL
                          SELECT 'is a member of ' || roleid::regrole FROM pg_auth_members WHERE member = l.oid) e ON true
      WHERE starts_with(n.nspname, 'ext_') GROUP BY n.nspname ORDER BY n.nspname`,
  );
  const excess = rows.flatMap((row) => row.excess ?? []);
  if (excess.length > 0)
    return fail(
      what,
      excess.join('; '),
      'Take it away with ALTER ROLE or REVOKE: the service refuses to start with such a login.',
    );
  const without = rows.filter(({ logins }) => logins === null).map(({ schema }) => schema);
  if (without.length > 0)
    return warn(
      what,
      `no login for the tables in ${without.join(', ')}`,
      'Start the service of this version once with these extensions, or remove them with extension:drop.',
    );
  return ok(what, rows.length === 0 ? 'none' : 'without attributes, members of no role');
}
