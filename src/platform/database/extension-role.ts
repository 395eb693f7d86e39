import type { Client } from 'pg';
import { applicationRole } from './connection-url';

/** A file of an extension that changes its tables. */
export interface SqlFile {
  readonly name: string;
  readonly text: string;
  /** SHA-256 in hexadecimal digits. */
  readonly digest: string;
}

/** An extension with tables of its own, and its files in their order. */
export interface ExtensionTables {
  readonly extension: string;
  readonly files: readonly SqlFile[];
}

/** The tables of an extension cannot be brought up to date. */
export class ExtensionTablesRefused extends Error {
  constructor(extension: string, reason: string, options?: ErrorOptions) {
    super(`The extension ${extension} cannot be used: ${reason}`, options);
    this.name = 'ExtensionTablesRefused';
  }
}

/** The schema of an extension, and the role that owns it, have one name. Ids have no underscore, so no two share it. */
export const extensionRole = (extension: string): string => `ext_${extension.replaceAll('-', '_')}`;

const mayAct = `CASE WHEN current_setting('server_version_num')::int >= 160000 THEN 'SET' ELSE 'MEMBER' END`;

/** The roles that are whole: they own their schema, read every published view, and the service may act as them. */
export async function completeRoles(client: Client, roles: readonly string[]): Promise<ReadonlySet<string>> {
  const { rows } = await client.query<{ role: string }>(
    `SELECT r.rolname AS role FROM pg_roles r JOIN pg_namespace n ON n.nspname = r.rolname AND n.nspowner = r.oid
      WHERE r.rolname = ANY($1) AND NOT r.rolcanlogin AND NOT r.rolsuper
        AND pg_has_role('${applicationRole}', r.oid, ${mayAct})
        AND has_schema_privilege(r.oid, 'contract', 'USAGE')
        AND NOT EXISTS (SELECT FROM pg_class v WHERE v.relnamespace = 'contract'::regnamespace AND v.relkind = 'v'
                           AND NOT has_table_privilege(r.oid, v.oid, 'SELECT'))`,
    [roles],
  );
  return new Set(rows.map(({ role }) => role));
}

const INSUFFICIENT_PRIVILEGE = '42501';
/** They say that another was first: duplicate_object, unique_violation, "tuple concurrently updated". */
const ANOTHER_WAS_FIRST = new Set(['42710', '23505', 'XX000']);
const MOST_ATTEMPTS = 5;

/** Makes the role and its schema, or mends what is missing of them. */
export async function ensureExtensionRole(client: Client, extension: string): Promise<void> {
  const role = extensionRole(extension);
  try {
    await inTurns(() => makeRole(client, role));
    await inTurns(() => client.query(grants(role)));
  } catch (cause) {
    if ((cause as { code?: string }).code !== INSUFFICIENT_PRIVILEGE) throw cause;
    const { rows } = await client.query<{ login: string; database: string }>(
      'SELECT quote_ident(current_user) AS login, quote_ident(current_database()) AS database',
    );
    const { login, database } = rows[0]!;
    throw new ExtensionTablesRefused(
      extension,
      `the database user ${login} may not make its role and schema (${(cause as Error).message}). ` +
        `Let an administrator run: CREATE ROLE ${role} NOLOGIN; GRANT ${role} TO ${login} WITH ADMIN OPTION; ` +
        `GRANT CREATE ON DATABASE ${database} TO ${login};`,
      { cause },
    );
  }
  await refuseForeignRole(client, extension, role);
}

async function makeRole(client: Client, role: string): Promise<void> {
  const { rowCount } = await client.query('SELECT FROM pg_roles WHERE rolname = $1', [role]);
  if (rowCount !== 0) return;
  await client.query(`CREATE ROLE ${role} NOLOGIN`);
}

/** A role belongs to the whole server: a node of another database may make or grant it in the same moment. */
async function inTurns(work: () => Promise<unknown>): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await work();
      return;
    } catch (error) {
      const { code = '' } = error as { code?: string };
      if (attempt === MOST_ATTEMPTS || !ANOTHER_WAS_FIRST.has(code)) throw error;
    }
  }
}

/** The service may become the role, and has none of its rights otherwise where the server can tell the two apart. */
const grants = (role: string): string => `
  DO $$
  BEGIN
    IF NOT pg_has_role('${role}', ${mayAct}) THEN
      GRANT ${role} TO CURRENT_USER;
    END IF;
    IF NOT pg_has_role('${applicationRole}', '${role}', ${mayAct}) THEN
      EXECUTE 'GRANT ${role} TO ${applicationRole}' ||
        CASE WHEN current_setting('server_version_num')::int >= 160000 THEN ' WITH INHERIT FALSE' ELSE '' END;
    END IF;
  END $$;
  CREATE SCHEMA IF NOT EXISTS ${role} AUTHORIZATION ${role};
  GRANT USAGE ON SCHEMA contract TO ${role};
  GRANT SELECT ON ALL TABLES IN SCHEMA contract TO ${role};
`;

/** A schema or a role of this name that was there before, made by somebody else for something else, is left alone. */
async function refuseForeignRole(client: Client, extension: string, role: string): Promise<void> {
  if ((await completeRoles(client, [role])).has(role)) return;
  throw new ExtensionTablesRefused(
    extension,
    `the database has a role or a schema ${role} of other make: the role has to be without LOGIN and SUPERUSER, and to own the schema`,
  );
}
