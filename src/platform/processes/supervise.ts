import { monotonicMs, SECOND_MS } from '../../kernel';
import { processEnvironment } from '../config/process-environment';
import { loadSettings } from '../config/load-settings';
import type { Settings } from '../config/settings';
import { EXIT_CONFIGURATION, SettingsError } from '../config/settings-error';
import type { EmbeddedEvents } from '../database/embedded-report';
import { assertPortsFree } from '../http-server/ports';
import { Logger } from '../logging/logger';
import { serveMetrics } from './machine-metrics';
import { ProcessPool } from './process-pool';
import { SharedPort } from './shared-port';

/**
 * Additional shutdown time beyond that of streams: connections move, interrupted streams are settled, everything
 * closes.
 */
const SHUTDOWN_GRACE_MS = 30 * SECOND_MS;

/**
 * Supervises a node with several processes: starts `main` for each, distributes connections, and serves only their
 * metrics. `runAlone` serves in this process if one is enough.
 */
export async function supervise(main: string, runAlone: () => unknown): Promise<void> {
  const settings = readSettings();
  if (process.platform === 'win32' && settings.processes > 1)
    process.stderr.write('PROCESSES is for Linux and macOS: here one process serves.\n');
  if (settings.processes === 1 || process.platform === 'win32') return void runAlone();
  const logger = Logger.create(settings).child({ process: 'supervisor' });
  process.exitCode = await run(main, settings, logger);
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

/** Returns the exit code. */
async function run(main: string, settings: Settings, logger: Logger): Promise<number> {
  const { processes: count, host, drainTimeoutMs, metricsHost, metricsPort, brandName } = settings;
  const startedAt = monotonicMs();
  const signals = new Signals(logger);
  try {
    await assertPortsFree(settings);
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    return EXIT_CONFIGURATION;
  }
  // Connections wait for the first process.
  const port = await SharedPort.open(host, settings.port);
  const database = await embeddedDatabase(settings, logger);
  const address = `http://${host.includes(':') ? `[${host}]` : host}:${port.port}`;
  const shutdownMs = drainTimeoutMs + SHUTDOWN_GRACE_MS;
  const pool = new ProcessPool({ main, address, count, shutdownMs }, port, logger);
  signals.pool = pool;
  if (metricsPort !== 0)
    await serveMetrics(metricsHost, metricsPort, () => pool.readMetrics(), database.events);
  const serves = pool.start().then((isServing) => {
    const seconds = ((monotonicMs() - startedAt) / SECOND_MS).toFixed(1);
    if (isServing)
      process.stdout.write(`\n${brandName} is ready at ${address} (${count} processes, ${seconds} s).\n\n`);
  });
  const code = await Promise.race([signals.stop, pool.lost, database.lost, serves.then(() => never)]);
  await pool.stop();
  port.close();
  await database.stop();
  return code;
}

const never = new Promise<never>(() => undefined);

/** Ctrl+C in a terminal can arrive twice: directly, and through npm. */
const SAME_REQUEST_MS = 1_000;

class Signals {
  /** Settles at the first request to stop; a second one exits immediately. */
  readonly stop: Promise<number>;
  pool: ProcessPool | undefined;
  private requestedAt: number | null = null;

  constructor(private readonly logger: Logger) {
    this.stop = new Promise((resolve) => {
      const stop = (signal: NodeJS.Signals): void => this.onStopSignal(signal, () => resolve(0));
      process.on('SIGINT', stop).on('SIGTERM', stop);
      // A closed terminal also sends SIGHUP, which then means to stop.
      process.on('SIGHUP', (signal) => {
        if (process.stdout.isTTY) stop(signal);
        else void this.pool?.replaceAll();
      });
    });
  }

  private onStopSignal(signal: NodeJS.Signals, stop: () => void): void {
    const { requestedAt } = this;
    if (requestedAt !== null && monotonicMs() - requestedAt < SAME_REQUEST_MS) return;
    if (requestedAt !== null) {
      this.pool?.kill();
      process.exit(1);
    }
    this.requestedAt = monotonicMs();
    const message = 'stopping: open requests are finished first, a second signal stops at once';
    this.logger.info(message, { signal });
    stop();
  }
}

interface EmbeddedDatabase {
  /** Null if the database is a server of the operator's own. */
  readonly events: EmbeddedEvents | null;
  /** Settles when the server ended and cannot be restarted. */
  readonly lost: Promise<number>;
  stop(): Promise<void>;
}

/** No process of the node owns the server, so it outlives each of them. */
async function embeddedDatabase(settings: Settings, logger: Logger): Promise<EmbeddedDatabase> {
  if (settings.databaseUrl !== undefined)
    return { events: null, lost: new Promise(() => undefined), stop: () => Promise.resolve() };
  const { startEmbeddedPostgres } = await import('../database/embedded-postgres.js');
  const { createEventCounter: counting } = await import('../database/embedded-report.js');
  const { dataFolder, backupTarget } = settings;
  const { events, report } = counting(logger);
  const server = await startEmbeddedPostgres({
    dataFolder,
    archives: backupTarget !== undefined,
    supervision: { report },
  });
  return { events, lost: server.exited.then(() => 1), stop: () => server.stop() };
}
