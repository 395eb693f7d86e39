import { monotonicMs } from '../kernel';
import {
  DataFolderInUse,
  EmbeddedPostgresFailure,
  EXIT_CONFIGURATION,
  loadSettings,
  Logger,
  processEnvironment,
  Settings,
  SettingsError,
  spellingWarnings,
} from '../platform';
import { announce } from './announce';
import { type RunningService, type ServiceOptions, startService } from './start-service';

/** The whole life of the process: read the configuration, start, wait to be told to stop, stop. */
export async function runService(options: ServiceOptions = {}): Promise<void> {
  const startedAt = monotonicMs();
  const settings = readSettings();
  const logger = Logger.create(settings);
  for (const warning of spellingWarnings(processEnvironment)) logger.warn(warning);
  // Signals are listened for before anything starts, so that a start that is broken off leaves nothing running.
  const stop = stopRequested(logger);
  survive(logger);
  let service: RunningService | undefined;
  try {
    service = await startService(settings, logger, options);
    announce(service, settings, monotonicMs() - startedAt);
    await Promise.race([stop, service.failed]);
  } catch (error) {
    report(error, logger);
    process.exitCode = 1;
  }
  await service?.close();
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

/** A terminal's Ctrl+C reaches this process directly and once more through npm: both are one request. */
const SAME_REQUEST_MS = 1_000;

/** Settles at the first request to stop; a second one ends the process at once. */
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

/** An uncaught failure is a bug to be reported, but not a reason to drop all other requests. */
function survive(logger: Logger): void {
  process.on('unhandledRejection', (error) =>
    logger.error('a promise failed and nobody was waiting', { error }),
  );
  process.on('uncaughtException', (error) => logger.error('an exception reached the top', { error }));
}

function report(error: unknown, logger: Logger): void {
  if (error instanceof DataFolderInUse || error instanceof EmbeddedPostgresFailure) {
    process.stderr.write(`${error.message}\n`);
  } else {
    logger.fatal('the service could not run', { error });
  }
}
