import { closeSync, fsyncSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { ActivityLog, changesOf } from '../../audit';
import { Database, errorCode, extensionLoginName, extensionRole, Settings, type Tx } from '../../platform';
import { commandActor, type CliCommand, type CliContext, UsageError } from '../command';
import { withOwnerServices } from '../with-services';
import { loadCommandExtensions } from './command-extensions';
import { dumpedTables, lockTables } from './table-dump';

const ID = /^[a-z][a-z0-9-]{1,30}$/;

export const extensionDrop: CliCommand = {
  usage: 'extension:drop ID [--to FILE] [--yes]',
  summary:
    'Takes away what an extension left in the database once it is no longer in EXTENSIONS: its rows are written to a new ' +
    'file first, in the data folder or at --to, as SQL that puts them back; then its schema, role and jobs go.',
  async run(argv, context) {
    const { values, positionals } = parseArgs({
      args: argv,
      options: { yes: { type: 'boolean', default: false }, to: { type: 'string' } },
      allowPositionals: true,
    });
    const [id, ...others] = positionals;
    if (id === undefined || others.length > 0 || !ID.test(id))
      throw new UsageError('Name one extension by its id.');
    if ((await loadCommandExtensions(context)).all.some((extension) => extension.id === id)) {
      context.writeStderr(
        `${id} is listed in EXTENSIONS. Take it out there and restart every node; then drop it.\n`,
      );
      return 1;
    }
    const services = [Database, Settings, ActivityLog] as const;
    return withOwnerServices(services, context, async (ownerUrl, database, settings, activity) => {
      const remains = await findRemains(database, id, extensionLoginName(id, ownerUrl));
      if (remains === null) {
        context.write(`Nothing of ${id} is in this database.\n`);
        return 0;
      }
      context.write(remainsText(id, remains));
      const question = `Every table of ${id} is dumped, and then dropped. Go on?`;
      if (!values.yes && !(await context.confirm(question))) {
        context.writeStderr('Nothing was changed. Confirm at a terminal, or with --yes.\n');
        return 1;
      }
      const path = pathOf(settings, id, values.to);
      await dropWithFile(database, activity, { id, left: remains, path, context });
      return 0;
    });
  },
};

interface ExtensionRemains {
  readonly hasSchema: boolean;
  readonly roles: readonly string[];
  readonly tables: readonly string[];
  readonly migrations: readonly string[];
  readonly jobs: readonly string[];
}

/** A schema of this name with another owner does not belong to the extension. */
async function findRemains(database: Database, id: string, login: string): Promise<ExtensionRemains | null> {
  const role = extensionRole(id);
  const [remains] = await database.query<ExtensionRemains & { readonly isForeign: boolean }>(
    `SELECT n.oid IS NOT NULL AS "hasSchema",
            ARRAY(SELECT rolname::text FROM pg_roles WHERE rolname IN ($1, $3) ORDER BY rolname = $1) AS roles,
            n.oid IS NOT NULL AND n.nspowner IS DISTINCT FROM r.oid AS "isForeign",
            ARRAY(SELECT relname::text FROM pg_class WHERE relnamespace = n.oid AND relkind = 'r' ORDER BY 1) AS tables,
            ARRAY(SELECT name FROM extension_migration WHERE extension = $2 ORDER BY 1) AS migrations,
            ARRAY(SELECT name FROM repeating_job WHERE starts_with(name, $2 || '/') ORDER BY 1) AS jobs
       FROM (SELECT) one LEFT JOIN pg_namespace n ON n.nspname = $1 LEFT JOIN pg_roles r ON r.rolname = $1`,
    [role, id, login],
  );
  if (remains === undefined) return null;
  if (remains.isForeign) throw new Error(`The schema ${role} is not the extension's own, and stays.`);
  const { hasSchema, migrations, jobs } = remains;
  return hasSchema || migrations.length > 0 || jobs.length > 0 ? remains : null;
}

const remainsText = (id: string, { tables, migrations, jobs }: ExtensionRemains): string =>
  [
    `${id} left behind:`,
    `  tables      ${tables.join(', ') || 'none'}`,
    `  migrations  ${migrations.join(', ') || 'none'}`,
    `  jobs        ${jobs.join(', ') || 'none'}`,
    '',
  ].join('\n');

const pathOf = ({ dataFolder }: Settings, id: string, to: string | undefined): string =>
  resolve(to ?? join(dataFolder, `extension-${id}-${new Date().toISOString().replaceAll(/[:.]/g, '-')}.sql`));

interface DropOptions {
  readonly id: string;
  readonly left: ExtensionRemains;
  readonly path: string;
  readonly context: CliContext;
}

/**
 * The file is complete and on disk before anything is dropped; on failure, the file is removed and nothing is dropped.
 */
async function dropWithFile(database: Database, activity: ActivityLog, drop: DropOptions): Promise<void> {
  const { id, path, context } = drop;
  const file = createFile(path);
  const rows = { count: 0 };
  let keptRoles: readonly string[];
  try {
    keptRoles = await database.transaction(async (tx) => {
      await lockMigrations(tx);
      await dumpTo(tx, drop, { write: (text) => writeSync(file, text), rows });
      fsyncSync(file);
      return dropAll(tx, activity, drop);
    });
  } catch (error) {
    rmSync(path, { force: true });
    throw error;
  } finally {
    closeSync(file);
  }
  context.write(`${rows.count} rows are in ${path}, which puts them back; its first lines say how.\n`);
  context.write(`The schema, the record of migrations and the jobs of ${id} are gone.\n`);
  for (const reason of keptRoles) context.writeStderr(`${reason}\n`);
}

function createFile(path: string): number {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    return openSync(path, 'wx', 0o600);
  } catch (error) {
    throw new UsageError(`The rows need a new file, and ${path} cannot be made (${errorCode(error)}).`);
  }
}

/** Takes the same lock as a start; see `migrate`. */
async function lockMigrations(tx: Tx): Promise<void> {
  const [lock] = await tx.query<{ taken: boolean }[]>('SELECT pg_try_advisory_xact_lock(5719024) AS taken');
  if (lock?.taken !== true)
    throw new Error('A node is starting and migrates the database: try again after it.');
  await tx.query(`SET LOCAL lock_timeout = '10s'`);
}

async function dumpTo(
  tx: Tx,
  { id, left }: DropOptions,
  { write, rows }: { readonly write: (text: string) => void; readonly rows: { count: number } },
): Promise<void> {
  write(
    `-- The rows of the extension ${id}, as they stood when its tables were dropped on ${new Date().toISOString()}.\n` +
      '-- To have them back, list the extension in EXTENSIONS again and start the service once: its migrations make the\n' +
      '-- tables. Then run this file as the owner of the database, such as with psql -v ON_ERROR_STOP=1 -f. It empties the\n' +
      '-- tables first. Foreign keys of a table to itself, or in a circle, have to be taken off for that time.\n' +
      `-- Its migrations were: ${left.migrations.join(', ') || 'none'}\n`,
  );
  const schema = extensionRole(id);
  const tables = await lockTables(tx, schema);
  for await (const text of dumpedTables(tx, schema, { tables, rows })) write(text);
}

async function dropAll(tx: Tx, activity: ActivityLog, { id, left }: DropOptions): Promise<string[]> {
  await tx.query(`DROP SCHEMA IF EXISTS ${extensionRole(id)} CASCADE`);
  await tx.query('DELETE FROM extension_migration WHERE extension = $1', [id]);
  await tx.query(`DELETE FROM repeating_job WHERE starts_with(name, $1 || '/')`, [id]);
  await activity.write(tx, {
    action: 'extension.dropped',
    object: { type: 'extension', label: id },
    concerns: {},
    changes: changesOf({ tables: left.tables, migrations: left.migrations }, null),
    actor: commandActor,
  });
  const keptRoles: string[] = [];
  for (const role of left.roles) {
    const reason = await dropRole(tx, role);
    if (reason !== null) keptRoles.push(`The role ${role} stays: ${reason}.`);
  }
  return keptRoles;
}

/** A role belongs to the complete server, on which another database might have an extension of the same name. */
async function dropRole(tx: Tx, role: string): Promise<string | null> {
  await tx.query(`DROP OWNED BY ${role} CASCADE`);
  await tx.query('SAVEPOINT role');
  try {
    await tx.query(`DROP ROLE ${role}`);
    return null;
  } catch (error) {
    await tx.query('ROLLBACK TO SAVEPOINT role');
    return (error as Error).message;
  }
}
