import { open, rm } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { ActivityLog, AuditChain } from '../audit';
import { Organisation } from '../identity';
import { Database, errorCode, type Tx } from '../platform';
import { commandActor, type CliCommand, type CliContext, UsageError } from './command';
import { withServices } from './with-services';

export const auditExport: CliCommand = {
  usage: 'audit:export FILE [--organisation SLUG | --platform]',
  summary:
    'Seals the activity log and writes its chain into a new file: whole blocks with all their entries and the newest ' +
    'heads, which "audit:verify" needs nothing else for. --organisation writes the chain of one organisation, ' +
    '--platform that of entries of none. The export is itself on record.',
  run(argv, context) {
    const { file, organisation, platform } = optionsOf(argv);
    return withServices([Database, ActivityLog, AuditChain], context, async (database, activity, chain) => {
      const number = platform ? 0 : await numberOf(database, organisation);
      await database.transaction((tx) => recordExport(tx, activity, number));
      const bytes = await writeNew(file, (write) => chain.export(write, number));
      reportExport(context, file, bytes, chain.publicKey);
      return 0;
    });
  },
};

function optionsOf(argv: string[]): { file: string; organisation: string | undefined; platform: boolean } {
  const { values, positionals } = parseArgs({
    args: argv,
    allowPositionals: true,
    options: { organisation: { type: 'string' }, platform: { type: 'boolean', default: false } },
  });
  const [file, ...others] = positionals;
  if (file === undefined || others.length > 0) throw new UsageError('Name the one file to write.');
  const { organisation, platform } = values;
  if (organisation !== undefined && platform) throw new UsageError('Take --organisation or --platform.');
  return { file, organisation, platform };
}

/** Accepts the slug of an organisation, or the number of a deleted one. */
async function numberOf(database: Database, organisation: string | undefined): Promise<number | undefined> {
  if (organisation === undefined) return undefined;
  const match = await database.source.getRepository(Organisation).findOneBy({ slug: organisation });
  if (match !== null) return match.id;
  if (/^[1-9]\d{0,8}$/.test(organisation)) return Number(organisation);
  throw new Error(`There is no organisation "${organisation}".`);
}

const recordExport = (tx: Tx, activity: ActivityLog, chain: number | undefined): Promise<void> =>
  activity.write(tx, {
    action: 'log.exported',
    object: { type: 'log', label: 'audit chain' },
    actor: commandActor,
    concerns: chain === undefined || chain === 0 ? {} : { organisationId: chain },
  });

/** Returns the number of bytes written; an incomplete file is deleted. */
async function writeNew(
  path: string,
  work: (write: (text: string) => Promise<void>) => Promise<void>,
): Promise<number> {
  const file = await open(path, 'wx', 0o600).catch((error: unknown) => {
    const reason = errorCode(error) === 'EEXIST' ? 'it is there already' : errorCode(error);
    throw new Error(`${path} cannot be written: ${reason}.`, { cause: error });
  });
  let bytes = 0;
  try {
    await work(async (text) => {
      bytes += (await file.write(text)).bytesWritten;
    });
    await file.sync();
    await file.close();
  } catch (error) {
    await file.close();
    await rm(path, { force: true });
    throw error;
  }
  return bytes;
}

function reportExport(context: CliContext, file: string, bytes: number, publicKey: Buffer): void {
  context.write(
    `${file}: ${bytes.toLocaleString('en')} bytes, signed by ${publicKey.toString('base64url')}\n`,
  );
}
