import { BackupError } from '../backup';
import { monotonicMs } from '../kernel';
import {
  DataFolderInUse,
  EmbeddedPostgresFailure,
  EXIT_CONFIGURATION,
  ExtensionTablesRefused,
  loadSettings,
  Logger,
  MigrationFailed,
  type Parting,
  processEnvironment,
  Settings,
  SettingsError,
  spellingWarnings,
  startWatchdog,
  type Supervised,
  supervised,
} from '../platform';
import { ExtensionRefused, Extensions } from '../extensions';
import { announce } from './announce';
import { type RunningService, type ServiceOptions, startService } from './start-service';

/** The process: read the configuration, start, wait for a signal, stop. */
export async function runService(options: ServiceOptions = {}): Promise<void> {
  const startedAt = monotonicMs();
  const settings = readSettings();
  const supervisor = supervised();
  const logger = loggerFor(settings, supervisor);
  if (supervisor === null || supervisor.number === 1)
    for (const warning of spellingWarnings(processEnvironment)) logger.warn(warning);
  // Signal handlers come first, so that an aborted start leaves nothing running.
  const stop = Promise.race([stopRequested(logger, supervisor), supervisor?.parting ?? never]);
  survive(logger);
  let service: RunningService | undefined;
  let parting: Parting = 'stop';
  try {
    service = await startService(settings, logger, options);
    const { all } = service.application.get(Extensions);
    startWatchdog(
      settings,
      all.map(({ id, folder }) => ({ id, folder })),
      logger,
    );
    announce(service, settings, monotonicMs() - startedAt);
    supervisor?.serving(service.readMetrics);
    parting = await Promise.race([stop, service.failed]);
  } catch (error) {
    report(error, logger);
    process.exitCode = misconfigured.some((known) => error instanceof known) ? EXIT_CONFIGURATION : 1;
  }
  await service?.close(parting);
  logger.flush();
  process.exit();
}

function readSettings(): Settings {
  try {
    return loadSettings(processEnvironment);
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(EXIT_CONFIGURATION);
  }
}

const never = new Promise<never>(() => undefined);

/** The lines of a process that is not alone carry its number. */
function loggerFor(settings: Settings, supervisor: Supervised | null): Logger {
  const logger = Logger.create(settings);
  return supervisor === null ? logger : logger.child({ process: supervisor.number });
}

/** A terminal's Ctrl+C reaches this process directly and again through npm: both count as one request. */
const SAME_REQUEST_MS = 1_000;

/** Settles at the first request to stop; a second one exits at once. */
function stopRequested(logger: Logger, supervisor: Supervised | null): Promise<Parting> {
  return new Promise((resolve) => {
    let askedAt: number | null = null;
    const onSignal = (signal: NodeJS.Signals): void => {
      if (askedAt !== null && monotonicMs() - askedAt < SAME_REQUEST_MS) return;
      if (askedAt !== null) process.exit(1);
      askedAt = monotonicMs();
      logger.info('stopping: open requests are finished first, a second signal stops at once', { signal });
      resolve('stop');
    };
    process.on('SIGTERM', onSignal);
    if (supervisor === null) process.on('SIGINT', onSignal).on('SIGHUP', onSignal);
  });
}

/** An uncaught failure is logged as a bug, but does not end all other requests. */
function survive(logger: Logger): void {
  process.on('unhandledRejection', (error) =>
    logger.error('a promise failed and nobody was waiting', { error }),
  );
  process.on('uncaughtException', (error) => logger.error('an exception reached the top', { error }));
}

/** The operator mends these, not a restart. */
const misconfigured = [SettingsError, ExtensionRefused, ExtensionTablesRefused, BackupError];

function report(error: unknown, logger: Logger): void {
  if (
    [DataFolderInUse, EmbeddedPostgresFailure, MigrationFailed, ...misconfigured].some(
      (known) => error instanceof known,
    )
  ) {
    process.stderr.write(`${(error as Error).message}\n`);
    // The line is for the operator; the stack is for the authors of the extension.
    if (error instanceof ExtensionRefused && error.cause instanceof Error)
      logger.error('an extension could not be loaded', { error: error.cause });
  } else {
    logger.fatal('the service could not run', { error });
  }
}
