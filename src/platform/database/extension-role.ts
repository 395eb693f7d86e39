import type { Client } from 'pg';
import { type ExtensionLogin, extensionRole, loginProblem, scramVerifier } from './extension-login';

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

export class ExtensionTablesRefused extends Error {
  constructor(extension: string, reason: string, options?: ErrorOptions) {
    super(`The extension ${extension} cannot be used: ${reason}`, options);
    this.name = 'ExtensionTablesRefused';
  }
}

/** An extension with the URL of its database, for the owner of the schema. */
export interface ExtensionAccess {
  readonly extension: string;
  readonly login: ExtensionLogin;
  readonly url: string;
  /** Whether an unknown password is replaced; otherwise it stays, as other nodes use it. */
  readonly replacesPassword: boolean;
}

/**
 * Whether the roles of an extension are complete: an unprivileged login owns every object of the schema and reads every
 * published view. The role that owns the schema is kept for nodes of the previous version.
 */
export async function hasCompleteRoles(
  client: Client,
  { extension, login }: ExtensionAccess,
): Promise<boolean> {
  const { rowCount } = await client.query(
    `SELECT FROM pg_roles l, pg_roles r JOIN pg_namespace n ON n.nspname = r.rolname AND n.nspowner = r.oid
      WHERE r.rolname = $1 AND NOT r.rolcanlogin AND NOT r.rolsuper AND l.rolname = $2 AND ${isPlainLogin}
        AND pg_has_role(r.oid, l.oid, 'USAGE')
        AND has_schema_privilege(l.oid, n.oid, 'USAGE') AND has_schema_privilege(l.oid, n.oid, 'CREATE')
        AND has_schema_privilege(l.oid, 'contract', 'USAGE')
        AND has_function_privilege(l.oid, '${RECORD_MIGRATION}', 'EXECUTE')
        AND NOT EXISTS (SELECT FROM pg_class v WHERE v.relnamespace = 'contract'::regnamespace AND v.relkind = 'v'
                           AND NOT has_table_privilege(l.oid, v.oid, 'SELECT'))
        AND NOT EXISTS (SELECT FROM pg_class c WHERE c.relnamespace = n.oid AND c.relowner <> l.oid)
        AND NOT EXISTS (SELECT FROM pg_proc p WHERE p.pronamespace = n.oid AND p.proowner <> l.oid)
        AND NOT EXISTS (SELECT FROM pg_type t WHERE t.typnamespace = n.oid AND t.typowner <> l.oid)`,
    [extensionRole(extension), login.name],
  );
  return rowCount === 1;
}

const RECORD_MIGRATION = 'contract.record_migration(text,text)';

const isPlainLogin = `l.rolcanlogin AND NOT (l.rolsuper OR l.rolcreaterole OR l.rolcreatedb OR l.rolreplication
  OR l.rolbypassrls) AND NOT EXISTS (SELECT FROM pg_auth_members m WHERE m.member = l.oid)`;

const INSUFFICIENT_PRIVILEGE = '42501';
const INVALID_PASSWORD = '28P01';
/** SQL states of a lost race: duplicate_object, unique_violation, "tuple concurrently updated". */
const LOST_RACE_STATES = new Set(['42710', '23505', 'XX000']);
const MAX_ATTEMPTS = 5;

export async function ensureExtensionRole(client: Client, access: ExtensionAccess): Promise<void> {
  const { extension, login } = access;
  try {
    await retryLostRaces(() => createRoles(client, access));
    await retryLostRaces(() => client.query(grants(extensionRole(extension), login.name)));
  } catch (cause) {
    if ((cause as { code?: string }).code !== INSUFFICIENT_PRIVILEGE) throw cause;
    throw await missingRightsError(client, access, cause as Error);
  }
  await assertOwnRole(client, access);
  await assertLoginAccepted(access);
}

interface ExistingRoles {
  readonly hasRole: boolean;
  readonly hasLogin: boolean;
  readonly isOpen: boolean;
}

async function readExistingRoles(
  client: Client,
  { extension, login }: ExtensionAccess,
): Promise<ExistingRoles> {
  const { rows } = await client.query<ExistingRoles>(
    `SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1) AS "hasRole",
            EXISTS (SELECT FROM pg_roles WHERE rolname = $2) AS "hasLogin",
            EXISTS (SELECT FROM pg_roles WHERE rolname = $2 AND rolcanlogin) AS "isOpen"`,
    [extensionRole(extension), login.name],
  );
  return rows[0]!;
}

async function createRoles(client: Client, access: ExtensionAccess): Promise<void> {
  const { extension, login } = access;
  const { hasRole, hasLogin, isOpen } = await readExistingRoles(client, access);
  if (!hasRole) await client.query(`CREATE ROLE ${extensionRole(extension)} NOLOGIN`);
  if (!hasLogin) await client.query(`CREATE ROLE ${login.name} ${withPassword(login)}`);
  else if (!isOpen || (await hasOldPassword(access)))
    await client.query(`ALTER ROLE ${login.name} ${withPassword(login)}`);
}

const withPassword = (login: ExtensionLogin): string => `LOGIN PASSWORD '${scramVerifier(login)}'`;

async function hasOldPassword({ login, url, replacesPassword }: ExtensionAccess): Promise<boolean> {
  if ((await loginProblem(url, login)) === null) return false;
  if (replacesPassword) return true;
  for (const password of login.formerPasswords)
    if ((await loginProblem(url, { name: login.name, password })) === null) return true;
  return false;
}

/** A role belongs to the entire server: a node of another database might create or grant it at the same moment. */
async function retryLostRaces(work: () => Promise<unknown>): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await work();
      return;
    } catch (error) {
      const { code = '' } = error as { code?: string };
      if (attempt === MAX_ATTEMPTS || !LOST_RACE_STATES.has(code)) throw error;
    }
  }
}

const setPrivilege = `CASE WHEN current_setting('server_version_num')::int >= 160000 THEN 'SET' ELSE 'MEMBER' END`;

/**
 * Gives the login its rights and every object of the schema. The previous version's objects belong to the schema's
 * role, those of a database copy to another login.
 */
const grants = (role: string, login: string): string => `
  DO $$
  DECLARE
    former name;
  BEGIN
    IF NOT pg_has_role('${role}', 'USAGE') OR NOT pg_has_role('${role}', ${setPrivilege}) THEN
      GRANT ${role} TO CURRENT_USER;
    END IF;
    IF NOT pg_has_role('${login}', 'USAGE') OR NOT pg_has_role('${login}', ${setPrivilege}) THEN
      GRANT ${login} TO CURRENT_USER;
    END IF;
    IF NOT pg_has_role('${role}', '${login}', 'USAGE') THEN
      GRANT ${login} TO ${role};
    END IF;
    CREATE SCHEMA IF NOT EXISTS ${role} AUTHORIZATION ${role};
    FOR former IN
      SELECT DISTINCT r.rolname FROM pg_shdepend d JOIN pg_roles r ON r.oid = d.refobjid
       WHERE d.dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
         AND d.refclassid = 'pg_authid'::regclass AND d.deptype = 'o' AND d.classid <> 'pg_namespace'::regclass
         AND r.rolname <> '${login}' AND (r.rolname = '${role}' OR r.rolname ~ '${otherLogins(login)}')
    LOOP
      EXECUTE format('REASSIGN OWNED BY %I TO ${login}', former);
    END LOOP;
    IF EXISTS (SELECT FROM pg_namespace WHERE nspname = '${role}' AND nspowner = '${login}'::regrole) THEN
      ALTER SCHEMA ${role} OWNER TO ${role};
    END IF;
  END $$;
  GRANT USAGE, CREATE ON SCHEMA ${role} TO ${login};
  GRANT USAGE ON SCHEMA contract TO ${role}, ${login};
  GRANT SELECT ON ALL TABLES IN SCHEMA contract TO ${role}, ${login};
  GRANT EXECUTE ON FUNCTION ${RECORD_MIGRATION} TO ${login};
`;

/** The logins of the same extension in other databases. */
const otherLogins = (login: string): string => `^${login.slice(0, login.lastIndexOf('_'))}_[0-9a-f]{8}$`;

async function missingRightsError(
  client: Client,
  access: ExtensionAccess,
  cause: Error,
): Promise<ExtensionTablesRefused> {
  const { extension, login } = access;
  const role = extensionRole(extension);
  const { hasRole, hasLogin } = await readExistingRoles(client, access);
  const { rows } = await client.query<{ user: string; database: string }>(
    'SELECT quote_ident(current_user) AS user, quote_ident(current_database()) AS database',
  );
  const { user, database } = rows[0]!;
  const statements = [
    ...(hasRole ? [] : [`CREATE ROLE ${role} NOLOGIN`]),
    ...(hasLogin ? [] : [`CREATE ROLE ${login.name} ${withPassword(login)}`]),
    `GRANT ${login.name} TO ${role}`,
    `GRANT ${role}, ${login.name} TO ${user} WITH ADMIN OPTION`,
    `GRANT CREATE ON DATABASE ${database} TO ${user}`,
  ];
  return new ExtensionTablesRefused(
    extension,
    `the database user ${user} may not create its role, login and schema (${cause.message}). ` +
      `Let an administrator run: ${statements.join('; ')};`,
    { cause },
  );
}

/** A schema or role of this name that was created for something else is left alone. */
async function assertOwnRole(client: Client, access: ExtensionAccess): Promise<void> {
  if (await hasCompleteRoles(client, access)) return;
  const { extension, login } = access;
  const role = extensionRole(extension);
  throw new ExtensionTablesRefused(
    extension,
    `the database has a role or a schema ${role} of other make: the role has to be without LOGIN and SUPERUSER, and to ` +
      `own the schema; the login ${login.name} has to be without attributes, a member of no role, and the owner of ` +
      'every object in the schema',
  );
}

/** A rejected login would otherwise fail only at the extension's first statement. */
async function assertLoginAccepted({ extension, login, url }: ExtensionAccess): Promise<void> {
  const problem = await loginProblem(url, login);
  if (problem === null) return;
  const advice =
    (problem as { code?: string }).code === INVALID_PASSWORD
      ? 'Its password comes from MASTER_KEY: start with the key that the other nodes have, and name a former one ' +
        `behind it. If the key is lost, let an administrator run: ALTER ROLE ${login.name} NOLOGIN; the next start ` +
        'gives it a new password.'
      : 'Let it log in with a password from where the service does, such as by a line in pg_hba.conf.';
  throw new ExtensionTablesRefused(
    extension,
    `the database does not let its login ${login.name} in (${problem.message}). ${advice}`,
    { cause: problem },
  );
}
