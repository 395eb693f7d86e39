import { Client } from 'pg';
import { MINUTE_MS } from '../../kernel';
import { MIGRATIONS_APPLICATION } from './data-source';
import { extensionLogin, extensionRole, loginProblem, urlForLogin } from './extension-login';
import {
  ensureExtensionRole,
  type ExtensionAccess,
  type ExtensionTables,
  ExtensionTablesRefused,
  hasCompleteRoles,
  type SqlFile,
} from './extension-role';

const LOCK_TIMEOUT_MS = 10_000;
/** A start that waits longer for one file is better told so. */
const STATEMENT_TIMEOUT_MS = 5 * MINUTE_MS;

/** The tables of all extensions of an installation. */
export interface InstalledTables {
  readonly tables: readonly ExtensionTables[];
  /** The passwords of logins are derived from MASTER_KEY. */
  readonly masterKey: string;
  /** The server is the embedded one, on which no other installation relies. */
  readonly isEmbedded?: boolean;
}

const accessOf = (
  url: string,
  extension: string,
  { masterKey, isEmbedded = false }: InstalledTables,
): ExtensionAccess => ({
  extension,
  url,
  login: extensionLogin(extension, url, masterKey),
  replacesPassword: isEmbedded,
});

/** Whether nothing is to be done; what does not fit is not current, and is told by whoever has the lock. */
export async function areExtensionsCurrent(
  client: Client,
  url: string,
  installed: InstalledTables,
): Promise<boolean> {
  for (const { extension, files } of installed.tables) {
    const access = accessOf(url, extension, installed);
    if (!(await hasCompleteRoles(client, access))) return false;
    const run = await filesRun(client, extension);
    if (run.size !== files.length || files.some(({ name, digest }) => run.get(name) !== digest)) return false;
    if ((await loginProblem(url, access.login)) !== null) return false;
  }
  return true;
}

/** Brings the tables of extensions up to date, one after the other. The caller has the lock, on another connection. */
export async function migrateExtensions(url: string, installed: InstalledTables): Promise<void> {
  for (const each of installed.tables) {
    const access = accessOf(url, each.extension, installed);
    const filesToRun = await connected(url, async (client) => {
      await ensureExtensionRole(client, access);
      const run = await filesRun(client, each.extension);
      refuseRewrittenPast(each, run);
      return each.files.filter(({ name }) => !run.has(name));
    });
    if (filesToRun.length === 0) continue;
    await connected(urlForLogin(url, access.login), async (client) => {
      for (const file of filesToRun) await runFile(client, each.extension, file);
    });
  }
}

async function connected<Result>(url: string, work: (client: Client) => Promise<Result>): Promise<Result> {
  const client = new Client({
    connectionString: url,
    application_name: MIGRATIONS_APPLICATION,
    connectionTimeoutMillis: 10_000,
  });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

async function filesRun(client: Client, extension: string): Promise<ReadonlyMap<string, string>> {
  const { rows } = await client.query<{ name: string; digest: string }>(
    'SELECT name, digest FROM public.extension_migration WHERE extension = $1 ORDER BY name',
    [extension],
  );
  return new Map(rows.map(({ name, digest }) => [name, digest]));
}

/** Files that were run are neither changed nor taken away, and none comes before them. */
function refuseRewrittenPast({ extension, files }: ExtensionTables, run: ReadonlyMap<string, string>): void {
  const refuse = (reason: string): never => {
    throw new ExtensionTablesRefused(extension, `${reason}. Migrations only go forward: add a new file`);
  };
  for (const [name, digest] of run) {
    const file = files.find((each) => each.name === name);
    if (file === undefined) refuse(`its migration ${name} was run here and is missing now`);
    else if (file.digest !== digest) refuse(`its migration ${name} was run here and has been changed since`);
  }
  const newest = [...run.keys()].at(-1);
  const late = files.find(({ name }) => !run.has(name) && newest !== undefined && name < newest);
  if (late !== undefined) refuse(`its migration ${late.name} comes before ${newest}, which was run here`);
}

const RUNNER = 'run_migration_file';

/**
 * Runs a file completely or not at all, under the login of the extension. Inside a SECURITY DEFINER function the server
 * refuses to end the transaction, so a file cannot commit a part of itself.
 */
async function runFile(client: Client, extension: string, { name, text, digest }: SqlFile): Promise<void> {
  const role = extensionRole(extension);
  const runner = `${role}.${RUNNER}`;
  try {
    await client.query(
      `BEGIN; SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS}; SET LOCAL statement_timeout = ${STATEMENT_TIMEOUT_MS}`,
    );
    await client.query('SELECT contract.record_migration($1, $2)', [name, digest]);
    await client.query(`
      CREATE FUNCTION ${runner}(file text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
        SET search_path = ${role}, contract, pg_temp
        AS $runner$ BEGIN EXECUTE file; SET CONSTRAINTS ALL IMMEDIATE; END $runner$`);
    await client.query(`SELECT ${runner}($1)`, [text]);
    await client.query(`DROP FUNCTION ${runner}(text)`);
    await client.query('COMMIT');
  } catch (cause) {
    await client.query('ROLLBACK').catch(() => undefined);
    throw new ExtensionTablesRefused(
      extension,
      `its migration ${name} failed: ${(cause as Error).message}${placeOf(cause, text)}`,
      { cause },
    );
  }
}

/** The line of the file where the server tells one. */
function placeOf(cause: unknown, text: string): string {
  const { internalQuery, internalPosition } = cause as { internalQuery?: string; internalPosition?: string };
  if (internalQuery !== text || internalPosition === undefined) return '';
  const before = [...text].slice(0, Number(internalPosition) - 1).join('');
  return ` (line ${before.split('\n').length})`;
}
