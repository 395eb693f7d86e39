import { parseArgs } from 'node:util';
import { migrations } from '../../../migrations';
import {
  flushLog,
  type OpenedTarget,
  placeOf,
  storedBytesOf,
  takeBackup,
  WalArchive,
  withTarget,
} from '../../backup';
import { productVersion } from '../../boot/app.module';
import { attachDatabase, type OpenDatabase, type Settings } from '../../platform';
import { type Command, type CommandContext, UsageError } from '../command';
import { installationOf, settingsOfInstallation } from '../with-database';
import { untilAsked, yieldsToService } from './beside-the-service';
import { megabytes, progressTo } from './said';

export const backup: Command = {
  usage: 'backup [TARGET]',
  summary:
    'Takes a whole backup while the service runs, or while it is stopped: database, journals, secrets. TARGET is a ' +
    'folder or s3://BUCKET/PREFIX; without it that of BACKUP_TARGET. One that was broken off is continued.',
  run(words, context) {
    const { positionals } = parseArgs({ args: words, allowPositionals: true });
    if (positionals.length > 1) throw new UsageError('Name one target.');
    const settings = settingsOfInstallation(context.environment);
    context.writeStderr(`Installation: ${installationOf(settings)}\n`);
    return withTarget(settings, positionals[0], (opened) =>
      untilAsked((signal) => takeOne(settings, opened, context, signal)),
    );
  },
};

async function takeOne(
  settings: Settings,
  { target, key }: OpenedTarget,
  context: CommandContext,
  signal: AbortSignal,
): Promise<number> {
  // The log goes to the target of the settings only.
  const isOwn = settings.backupTarget !== undefined && placeOf(settings.backupTarget) === target.place;
  const isServed = yieldsToService(settings);
  const open = settings.databaseUrl === undefined ? await attachDatabase(settings, { migrations }) : null;
  const database = embeddedOf(open);
  try {
    const taken = await takeBackup({
      target,
      key,
      database,
      dataFolder: settings.dataFolder,
      product: productVersion,
      bytesPerSecond: settings.backupRate,
      progress: progressTo(context),
      signal,
    });
    const { manifest } = taken;
    if (taken.reusedParts > 0)
      context.write(`Continued: ${taken.reusedParts} parts of a try that was broken off were whole.\n`);
    if (manifest.cluster !== null && database !== null && !isServed && isOwn)
      await flushLog(database, new WalArchive(target, key), manifest.cluster);
    if (database === null) context.write(ELSEWHERE);
    context.write(
      `backup: ${manifest.id}, ${megabytes(taken.bytes)}, ${megabytes(storedBytesOf(manifest))} in ${target.place}, ` +
        `key ${key.fingerprint}\n`,
    );
    return 0;
  } finally {
    await open?.close();
  }
}

const ELSEWHERE =
  'DATABASE_URL names a server of your own: this backup has the journals and secrets of this node only. Back the ' +
  'database up by pgBackRest or by what its provider offers (docs/backup.md).\n';

function embeddedOf(open: OpenDatabase | null): { ownerUrl: string; folder: string } | null {
  return open?.folder === undefined ? null : { ownerUrl: open.ownerUrl, folder: open.folder };
}
