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
/** Limit for one file, after which the start fails with an error. */
const STATEMENT_TIMEOUT_MS = 5 * MINUTE_MS;

export interface InstalledTables {
  readonly tables: readonly ExtensionTables[];
  /** The passwords of logins are derived from MASTER_KEY. */
  readonly masterKey: string;
  /** Whether the server is the embedded one, which no other installation uses. */
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

/** True if nothing has to be done. Inconsistencies count as not current, and are reported by the holder of the lock. */
export async function areExtensionsCurrent(
  client: Client,
  url: string,
  installed: InstalledTables,
): Promise<boolean> {
  for (const { extension, files } of installed.tables) {
    const access = accessOf(url, extension, installed);
    if (!(await hasCompleteRoles(client, access))) return false;
    const appliedFiles = await readAppliedFiles(client, extension);
    if (
      appliedFiles.size !== files.length ||
      files.some(({ name, digest }) => appliedFiles.get(name) !== digest)
    )
      return false;
    if ((await loginProblem(url, access.login)) !== null) return false;
  }
  return true;
}

/** Brings the tables of extensions up to date, one after the other. The caller has the lock, on another connection. */
export async function migrateExtensions(url: string, installed: InstalledTables): Promise<void> {
  for (const each of installed.tables) {
    const access = accessOf(url, each.extension, installed);
    const filesToRun = await withConnection(url, async (client) => {
      await ensureExtensionRole(client, access);
      const appliedFiles = await readAppliedFiles(client, each.extension);
      assertHistoryUnchanged(each, appliedFiles);
      return each.files.filter(({ name }) => !appliedFiles.has(name));
    });
    if (filesToRun.length === 0) continue;
    await withConnection(urlForLogin(url, access.login), async (client) => {
      for (const file of filesToRun) await runFile(client, each.extension, file);
    });
  }
}

async function withConnection<Result>(
  url: string,
  work: (client: Client) => Promise<Result>,
): Promise<Result> {
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

async function readAppliedFiles(client: Client, extension: string): Promise<ReadonlyMap<string, string>> {
  const { rows } = await client.query<{ name: string; digest: string }>(
    'SELECT name, digest FROM public.extension_migration WHERE extension = $1 ORDER BY name',
    [extension],
  );
  return new Map(rows.map(({ name, digest }) => [name, digest]));
}

/** Applied files are neither changed nor removed, and no new file comes before them. */
function assertHistoryUnchanged(
  { extension, files }: ExtensionTables,
  appliedFiles: ReadonlyMap<string, string>,
): void {
  const reject = (reason: string): never => {
    throw new ExtensionTablesRefused(extension, `${reason}. Migrations only go forward: add a new file`);
  };
  for (const [name, digest] of appliedFiles) {
    const file = files.find((each) => each.name === name);
    if (file === undefined) reject(`its migration ${name} was run here and is missing now`);
    else if (file.digest !== digest) reject(`its migration ${name} was run here and has been changed since`);
  }
  const newest = [...appliedFiles.keys()].at(-1);
  const misplaced = files.find(
    ({ name }) => !appliedFiles.has(name) && newest !== undefined && name < newest,
  );
  if (misplaced !== undefined)
    reject(`its migration ${misplaced.name} comes before ${newest}, which was run here`);
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
      `its migration ${name} failed: ${(cause as Error).message}${lineSuffix(cause, text)}`,
      { cause },
    );
  }
}

function lineSuffix(cause: unknown, text: string): string {
  const { internalQuery, internalPosition } = cause as { internalQuery?: string; internalPosition?: string };
  if (internalQuery !== text || internalPosition === undefined) return '';
  const before = [...text].slice(0, Number(internalPosition) - 1).join('');
  return ` (line ${before.split('\n').length})`;
}
