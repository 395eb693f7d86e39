import { parseArgs } from 'node:util';
import { migrations } from '../../../migrations';
import {
  flushLog,
  type OpenedTarget,
  locationOf,
  storedBytesOf,
  takeBackup,
  WalArchive,
  withTarget,
} from '../../backup';
import { productVersion } from '../../boot/app.module';
import { attachDatabase, type OpenDatabase, type Settings } from '../../platform';
import { type CliCommand, type CliContext, UsageError } from '../command';
import { describeInstallation, settingsOfInstallation } from '../with-services';
import { runUntilInterrupted, yieldToService } from './process-control';
import { megabytes, progressTo } from './progress';

export const backup: CliCommand = {
  usage: 'backup [TARGET]',
  summary:
    'Takes a whole backup while the service runs, or while it is stopped: database, journals, secrets. TARGET is a ' +
    'folder or s3://BUCKET/PREFIX; without it that of BACKUP_TARGET. One that was broken off is continued.',
  run(argv, context) {
    const { positionals } = parseArgs({ args: argv, allowPositionals: true });
    if (positionals.length > 1) throw new UsageError('Name one target.');
    const settings = settingsOfInstallation(context.environment);
    context.writeStderr(`Installation: ${describeInstallation(settings)}\n`);
    return withTarget(settings, positionals[0], (opened) =>
      runUntilInterrupted((signal) => runBackup(settings, opened, context, signal)),
    );
  },
};

async function runBackup(
  settings: Settings,
  { target, key }: OpenedTarget,
  context: CliContext,
  signal: AbortSignal,
): Promise<number> {
  // The log goes only to the target in the settings.
  const isConfiguredTarget =
    settings.backupTarget !== undefined && locationOf(settings.backupTarget) === target.location;
  const isServiceRunning = yieldToService(settings);
  const connection =
    settings.databaseUrl === undefined ? await attachDatabase(settings, { migrations }) : null;
  const database = embeddedOf(connection);
  try {
    const result = await takeBackup({
      target,
      key,
      database,
      dataFolder: settings.dataFolder,
      product: productVersion,
      bytesPerSecond: settings.backupRate,
      progress: progressTo(context),
      signal,
    });
    const { manifest } = result;
    if (result.reusedParts > 0)
      context.write(`Continued: ${result.reusedParts} parts of a try that was broken off were whole.\n`);
    if (manifest.cluster !== null && database !== null && !isServiceRunning && isConfiguredTarget)
      await flushLog(database, new WalArchive(target, key), manifest.cluster);
    if (database === null) context.write(ELSEWHERE);
    context.write(
      `backup: ${manifest.id}, ${megabytes(result.bytes)}, ${megabytes(storedBytesOf(manifest))} in ${target.location}, ` +
        `key ${key.fingerprint}\n`,
    );
    return 0;
  } finally {
    await connection?.close();
  }
}

const ELSEWHERE =
  'DATABASE_URL names a server of your own: this backup has the journals and secrets of this node only. Back the ' +
  'database up by pgBackRest or by what its provider offers (docs/backup.md).\n';

function embeddedOf(connection: OpenDatabase | null): { ownerUrl: string; folder: string } | null {
  return connection?.folder === undefined
    ? null
    : { ownerUrl: connection.ownerUrl, folder: connection.folder };
}
