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

/** Beyond the time that streams may take: connections move, what is cut is settled, everything closes. */
const PARTING_GRACE_MS = 30 * SECOND_MS;

/**
 * The supervisor of a node with several processes. It starts `main` again for each of them, hands each new connection
 * to the next, and serves nothing itself but their numbers. `alone` serves in this process, where one is enough.
 */
export async function supervise(main: string, alone: () => unknown): Promise<void> {
  const settings = readSettings();
  if (process.platform === 'win32' && settings.processes > 1)
    process.stderr.write('PROCESSES is for Linux and macOS: here one process serves.\n');
  if (settings.processes === 1 || process.platform === 'win32') return void alone();
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

/** Answers the code to end with. */
async function run(main: string, settings: Settings, logger: Logger): Promise<number> {
  const { processes: count, host, drainTimeoutMs, metricsHost, metricsPort, brandName } = settings;
  const startedAt = monotonicMs();
  const asked = new Signals(logger);
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
  const partingMs = drainTimeoutMs + PARTING_GRACE_MS;
  const pool = new ProcessPool({ main, address, count, partingMs }, port, logger);
  asked.pool = pool;
  if (metricsPort !== 0) await serveMetrics(metricsHost, metricsPort, () => pool.numbers(), database.events);
  const serves = pool.start().then((isServing) => {
    const seconds = ((monotonicMs() - startedAt) / SECOND_MS).toFixed(1);
    if (isServing)
      process.stdout.write(`\n${brandName} is ready at ${address} (${count} processes, ${seconds} s).\n\n`);
  });
  const code = await Promise.race([asked.stop, pool.lost, database.lost, serves.then(() => never)]);
  await pool.stop();
  port.close();
  await database.stop();
  return code;
}

const never = new Promise<never>(() => undefined);

/** A terminal's Ctrl+C may come twice: directly, and through npm. */
const SAME_REQUEST_MS = 1_000;

/** What the operator asks for. */
class Signals {
  /** Settles at the first request to stop; a second one ends at once. */
  readonly stop: Promise<number>;
  pool: ProcessPool | undefined;
  private askedAt: number | null = null;

  constructor(private readonly logger: Logger) {
    this.stop = new Promise((resolve) => {
      const stop = (signal: NodeJS.Signals): void => this.stopAsked(signal, () => resolve(0));
      process.on('SIGINT', stop).on('SIGTERM', stop);
      // A terminal that was closed sends it, too, and wants the end.
      process.on('SIGHUP', (signal) => {
        if (process.stdout.isTTY) stop(signal);
        else void this.pool?.replaceAll();
      });
    });
  }

  private stopAsked(signal: NodeJS.Signals, stop: () => void): void {
    const { askedAt } = this;
    if (askedAt !== null && monotonicMs() - askedAt < SAME_REQUEST_MS) return;
    if (askedAt !== null) {
      this.pool?.kill();
      process.exit(1);
    }
    this.askedAt = monotonicMs();
    const message = 'stopping: open requests are finished first, a second signal stops at once';
    this.logger.info(message, { signal });
    stop();
  }
}

interface EmbeddedDatabase {
  /** It is null where the database is a server of the operator's own. */
  readonly events: EmbeddedEvents | null;
  /** Settles when it has ended and cannot be started again. */
  readonly lost: Promise<number>;
  stop(): Promise<void>;
}

/** No process of the node owns it, so it outlives each of them. */
async function embeddedDatabase(settings: Settings, logger: Logger): Promise<EmbeddedDatabase> {
  if (settings.databaseUrl !== undefined)
    return { events: null, lost: new Promise(() => undefined), stop: () => Promise.resolve() };
  const { startEmbeddedPostgres } = await import('../database/embedded-postgres.js');
  const { counting } = await import('../database/embedded-report.js');
  const { dataFolder, backupTarget } = settings;
  const { events, report } = counting(logger);
  const server = await startEmbeddedPostgres({
    dataFolder,
    archives: backupTarget !== undefined,
    supervision: { report },
  });
  return { events, lost: server.exited.then(() => 1), stop: () => server.stop() };
}
