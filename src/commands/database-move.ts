import { parseArgs } from 'node:util';
import { migrations } from '../../migrations';
import { AuditChain, verifyExport } from '../audit';
import { verifyMoney } from '../billing';
import { tablesOf } from '../extensions';
import { monotonicMs } from '../kernel';
import {
  applicationUrl,
  attachDatabase,
  Database,
  extensionLogin,
  extensionRole,
  type ExtensionTables,
  type InstalledTables,
  isEmbeddedPostgresRunning,
  migrate,
  moveDatabase,
  type MoveProgress,
  targetProblem,
  type Settings,
  urlForLogin,
} from '../platform';
import { type CliCommand, type CliContext, UsageError } from './command';
import { loadCommandExtensions } from './extensions/command-extensions';
import {
  describeInstallation,
  injectServices,
  type ServicesOptions,
  settingsOfInstallation,
} from './with-services';

export const databaseMove: CliCommand = {
  usage: 'database:move URL',
  summary:
    'Moves the embedded database, with all that it holds, to an empty one of an external PostgreSQL: postgres://… of a ' +
    'user who may make tables there; PGPASSWORD has the password. The service has to be stopped. Until it is done, nothing is changed but the target, ' +
    'and a move that failed is begun again by the same command.',
  async run(argv, context) {
    const { positionals } = parseArgs({ args: argv, options: {}, allowPositionals: true });
    const targetUrl = parseTargetUrl(positionals, context.environment['PGPASSWORD']);
    const settings = settingsOfInstallation(context.environment);
    const problem = problemOfSource(settings) ?? (await targetProblem(targetUrl));
    if (problem !== null) {
      context.writeStderr(`Nothing can be moved to ${addressOf(targetUrl)}: ${problem}.\n`);
      return 1;
    }
    context.writeStderr(`Installation: ${describeInstallation(settings)}\n`);
    return move(settings, targetUrl, context);
  },
};

const SECRETS = ['SESSION_SECRET', 'KEY_PEPPER', 'MASTER_KEY'];

function parseTargetUrl(positionals: readonly string[], password: string | undefined): string {
  const [text, ...others] = positionals;
  if (text === undefined || others.length > 0) throw new UsageError('Name the one database to move to.');
  if (!URL.canParse(text) || !/^postgres(ql)?:$/.test(new URL(text).protocol))
    throw new UsageError('The target is an address like postgres://user@host:5432/database.');
  const url = new URL(text);
  // Every user of the machine can read the arguments of a process.
  if (url.password !== '')
    throw new UsageError(
      'Leave the password out of the address, and set it as PGPASSWORD in the environment.',
    );
  if (password !== undefined) url.password = encodeURIComponent(password);
  return url.href;
}

function problemOfSource({ databaseUrl, dataFolder }: Settings): string | null {
  if (databaseUrl !== undefined)
    return 'DATABASE_URL is set, so the embedded database is not the one in use. Unset it for this command';
  return isEmbeddedPostgresRunning(dataFolder)
    ? `the service runs on ${dataFolder}. Stop it, so that nothing comes in between`
    : null;
}

async function move(settings: Settings, targetUrl: string, context: CliContext): Promise<number> {
  const extensions = tablesOf((await loadCommandExtensions(context, settings)).all);
  const source = await attachDatabase(settings, { migrations, extensions });
  try {
    const unlisted = await unlistedExtensions({ url: source.ownerUrl, settings, context }, extensions);
    if (unlisted.length > 0) {
      const names = unlisted.join(', ');
      context.writeStderr(
        `The database holds tables of extensions that EXTENSIONS does not list: ${names}. List them, so that their ` +
          'roles and tables are made at the target, or remove them by "extension:drop".\n',
      );
      return 1;
    }
    context.writeStderr(`Making the tables at ${addressOf(targetUrl)}.\n`);
    const { masterKey, redisUrl } = settings;
    const installed = { tables: extensions, masterKey };
    await migrate({ url: targetUrl, migrations, queue: !redisUrl, extensions: installed });
    await moveRows(source.ownerUrl, targetUrl, installed, context);
  } finally {
    await source.close();
  }
  if (!(await verifyTarget({ url: applicationUrl(targetUrl), settings, context }))) return 1;
  context.write(nextStepsText(targetUrl, settings, context));
  return 0;
}

async function moveRows(
  sourceUrl: string,
  targetUrl: string,
  { tables: extensions, masterKey }: InstalledTables,
  context: CliContext,
): Promise<void> {
  const startedMs = monotonicMs();
  const { tables, rows } = await moveDatabase({
    sourceUrl,
    targetUrl,
    extensions: extensions.map(({ extension }) => ({
      schema: extensionRole(extension),
      targetUrl: urlForLogin(targetUrl, extensionLogin(extension, targetUrl, masterKey)),
    })),
    report: (progress) => context.writeStderr(`${progressLine(progress)}\n`),
  });
  const seconds = (monotonicMs() - startedMs) / 1_000;
  context.write(
    `Moved: ${formatCount(rows)} rows of ${tables} tables in ${seconds.toFixed(1)} s, ` +
      `${formatCount(Math.round(rows / Math.max(seconds, 0.001)))} rows/s, each table compared.\n`,
  );
}

function unlistedExtensions(options: ServicesOptions, listed: readonly ExtensionTables[]): Promise<string[]> {
  return injectServices([Database], options, async (database) => {
    const rows = await database.rows<{ extension: string }>(
      'SELECT DISTINCT extension FROM extension_migration ORDER BY extension',
    );
    const listedIds = new Set(listed.map(({ extension }) => extension));
    return rows.map(({ extension }) => extension).filter((extension) => !listedIds.has(extension));
  });
}

function verifyTarget(options: ServicesOptions & { readonly context: CliContext }): Promise<boolean> {
  const { context } = options;
  return injectServices([Database, AuditChain], options, async (database, chain) => {
    const { checks } = await verifyMoney(database);
    const broken = checks.filter(({ wrong }) => wrong.length > 0);
    for (const { name, wrong } of broken) context.write(`BROKEN  ${name}: ${JSON.stringify(wrong[0])}\n`);
    context.write(`money:verify there: ${checks.length - broken.length} of ${checks.length} hold\n`);
    const audit = await verifyExport(
      streamOf((write) => chain.export(write)),
      { everySignature: false },
    );
    context.write(
      `audit:verify there: ${formatCount(audit.entries)} entries in ${formatCount(audit.blocks)} blocks: ` +
        `${audit.count === 0 ? 'all as they were sealed' : `${formatCount(audit.count)} findings`}\n`,
    );
    return broken.length === 0 && audit.count === 0;
  });
}

async function* streamOf(
  work: (write: (text: string) => Promise<void>) => Promise<void>,
): AsyncGenerator<Buffer> {
  let nextText = Promise.withResolvers<string | null>();
  let consumed = Promise.withResolvers<void>();
  const working = work((text) => {
    nextText.resolve(text);
    return consumed.promise;
  }).then(
    () => nextText.resolve(null),
    (error: unknown) => nextText.reject(error as Error),
  );
  for (let text = await nextText.promise; text !== null; text = await nextText.promise) {
    yield Buffer.from(text);
    nextText = Promise.withResolvers();
    const previous = consumed;
    consumed = Promise.withResolvers();
    previous.resolve();
  }
  await working;
}

const formatCount = (count: number): string => count.toLocaleString('en');

function progressLine({ step, table, rows, milliseconds }: MoveProgress): string {
  const duration = `${(milliseconds / 1_000).toFixed(1)} s`;
  if (step === 'copies') return `  ${table}: ${formatCount(rows)} rows so far, ${duration}`;
  return `  ${table}: ${formatCount(rows)} rows ${step === 'copied' ? 'copied' : 'compared'}, ${duration}`;
}

function addressOf(url: string): string {
  const { host, pathname } = new URL(url);
  return `${host}${pathname}`;
}

function nextStepsText(
  targetUrl: string,
  { dataFolder, redisUrl }: Settings,
  { environment }: CliContext,
): string {
  const address = new URL(targetUrl);
  if (address.password !== '') address.password = 'PASSWORD';
  return [
    '',
    'Set this before you start the service, with the password in the place of PASSWORD:',
    `  DATABASE_URL=${address.href}`,
    ...(SECRETS.every((name) => environment[name] !== undefined)
      ? []
      : [
          `Set ${SECRETS.join(', ')} as well: in production they are not taken from secrets.json in DATA_FOLDER`,
          'where DATABASE_URL is set. They have to stay what they are in that file.',
        ]),
    ...(redisUrl === undefined ? ['With a second node, set REDIS_URL on both as well (docs/nodes.md).'] : []),
    `Keep DATA_FOLDER=${dataFolder} and the secrets in it. Once the service runs, its folder "postgres" is not needed.`,
    '',
  ].join('\n');
}
