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
  type ShutdownKind,
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

export async function runService(options: ServiceOptions = {}): Promise<void> {
  const startedAt = monotonicMs();
  const settings = readSettings();
  const supervisor = supervised();
  const logger = loggerFor(settings, supervisor);
  if (supervisor === null || supervisor.number === 1)
    for (const warning of spellingWarnings(processEnvironment)) logger.warn(warning);
  // Signal handlers are installed first, so that an aborted start leaves nothing running.
  const stop = Promise.race([waitForStop(logger, supervisor), supervisor?.shutdown ?? never]);
  logUncaughtErrors(logger);
  let service: RunningService | undefined;
  let parting: ShutdownKind = 'stop';
  try {
    service = await startService(settings, logger, options);
    const { all } = service.application.get(Extensions);
    startWatchdog(
      settings,
      all.map(({ id, folder }) => ({ id, folder })),
      logger,
    );
    announce(service, settings, monotonicMs() - startedAt);
    supervisor?.reportServing(service.readMetrics);
    parting = await Promise.race([stop, service.failed]);
  } catch (error) {
    report(error, logger);
    process.exitCode = configurationErrors.some((errorType) => error instanceof errorType)
      ? EXIT_CONFIGURATION
      : 1;
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

function loggerFor(settings: Settings, supervisor: Supervised | null): Logger {
  const logger = Logger.create(settings);
  return supervisor === null ? logger : logger.child({ process: supervisor.number });
}

/** Ctrl+C in a terminal reaches this process directly and again through npm; signals within this time count as one. */
const SAME_SIGNAL_MS = 1_000;

/** Settles at the first stop signal; a second signal exits immediately. */
function waitForStop(logger: Logger, supervisor: Supervised | null): Promise<ShutdownKind> {
  return new Promise((resolve) => {
    let requestedAt: number | null = null;
    const onSignal = (signal: NodeJS.Signals): void => {
      if (requestedAt !== null && monotonicMs() - requestedAt < SAME_SIGNAL_MS) return;
      if (requestedAt !== null) process.exit(1);
      requestedAt = monotonicMs();
      logger.info('stopping: open requests are finished first, a second signal stops at once', { signal });
      resolve('stop');
    };
    process.on('SIGTERM', onSignal);
    if (supervisor === null) process.on('SIGINT', onSignal).on('SIGHUP', onSignal);
  });
}

function logUncaughtErrors(logger: Logger): void {
  process.on('unhandledRejection', (error) =>
    logger.error('a promise failed and nobody was waiting', { error }),
  );
  process.on('uncaughtException', (error) => logger.error('an exception reached the top', { error }));
}

/** Errors that the operator has to fix; a restart does not help. */
const configurationErrors = [SettingsError, ExtensionRefused, ExtensionTablesRefused, BackupError];

function report(error: unknown, logger: Logger): void {
  if (
    [DataFolderInUse, EmbeddedPostgresFailure, MigrationFailed, ...configurationErrors].some(
      (errorType) => error instanceof errorType,
    )
  ) {
    process.stderr.write(`${(error as Error).message}\n`);
    // The message is for the operator, the stack for the extension's authors.
    if (error instanceof ExtensionRefused && error.cause instanceof Error)
      logger.error('an extension could not be loaded', { error: error.cause });
  } else {
    logger.fatal('the service could not run', { error });
  }
}
