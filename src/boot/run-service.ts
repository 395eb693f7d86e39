import { monotonicMs } from '../kernel';
import {
  DataFolderInUse,
  EmbeddedPostgresFailure,
  EXIT_CONFIGURATION,
  ExtensionTablesRefused,
  loadSettings,
  Logger,
  processEnvironment,
  Settings,
  SettingsError,
  spellingWarnings,
} from '../platform';
import { ExtensionRefused } from '../extensions';
import { announce } from './announce';
import { type RunningService, type ServiceOptions, startService } from './start-service';

/** The process: read the configuration, start, wait for a signal, stop. */
export async function runService(options: ServiceOptions = {}): Promise<void> {
  const startedAt = monotonicMs();
  const settings = readSettings();
  const logger = Logger.create(settings);
  for (const warning of spellingWarnings(processEnvironment)) logger.warn(warning);
  // Signal handlers come first, so that an aborted start leaves nothing running.
  const stop = stopRequested(logger);
  survive(logger);
  let service: RunningService | undefined;
  try {
    service = await startService(settings, logger, options);
    announce(service, settings, monotonicMs() - startedAt);
    await Promise.race([stop, service.failed]);
  } catch (error) {
    report(error, logger);
    process.exitCode = misconfigured.some((known) => error instanceof known) ? EXIT_CONFIGURATION : 1;
  }
  await service?.close();
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

/** A terminal's Ctrl+C reaches this process directly and again through npm: both count as one request. */
const SAME_REQUEST_MS = 1_000;

/** Settles at the first request to stop; a second one exits at once. */
function stopRequested(logger: Logger): Promise<void> {
  return new Promise((resolve) => {
    let askedAt: number | null = null;
    const onSignal = (signal: NodeJS.Signals): void => {
      if (askedAt !== null && monotonicMs() - askedAt < SAME_REQUEST_MS) return;
      if (askedAt !== null) process.exit(1);
      askedAt = monotonicMs();
      logger.info('stopping: open requests are finished first, a second signal stops at once', { signal });
      resolve();
    };
    process.on('SIGINT', onSignal).on('SIGTERM', onSignal).on('SIGHUP', onSignal);
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
const misconfigured = [SettingsError, ExtensionRefused, ExtensionTablesRefused];

function report(error: unknown, logger: Logger): void {
  if ([DataFolderInUse, EmbeddedPostgresFailure, ...misconfigured].some((known) => error instanceof known)) {
    process.stderr.write(`${(error as Error).message}\n`);
  } else {
    logger.fatal('the service could not run', { error });
  }
}
