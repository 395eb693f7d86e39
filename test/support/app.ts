import { rmSync } from 'node:fs';
import type { Type } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { startService, type RunningService } from '#inside/boot/start-service';
import { verifyMoney } from '#product/billing';
import { Database, Logger, loadSettings } from '#product/platform';
import { createTestDatabase, type TestDatabase } from './postgres';
import { makeScratchFolder } from './scratch';

export interface TestApp extends RunningService {
  readonly database: Database;
  /** Every line the service logged, for tests that check what must not be logged. */
  readonly log: string[];
  /** The service's settings, for processes that run next to it. */
  readonly environment: Readonly<Record<string, string>>;
}

export interface TestAppOptions {
  readonly environment?: Readonly<Record<string, string>>;
  readonly modules?: readonly Type[];
  /** URL of a simulator that serves the sandbox models. */
  readonly sandboxUrl?: string;
  /** Runs repeating jobs on their schedule; otherwise a test runs the jobs it needs. */
  readonly schedule?: boolean;
  /** For a second node on one database; the caller that created the database drops it. */
  readonly sharedDatabase?: Pick<TestDatabase, 'url' | 'ownerUrl'>;
}

/** Starts the complete service, as shipped, on its own port and with its own database. */
export async function startTestApp(options: TestAppOptions = {}): Promise<TestApp> {
  const ownDatabase = options.sharedDatabase === undefined ? await createTestDatabase() : null;
  const { url, ownerUrl } = options.sharedDatabase ?? (ownDatabase as TestDatabase);
  const dataFolder = makeScratchFolder('switchboard-data-');
  const cleanUp = async () => {
    await ownDatabase?.drop();
    rmSync(dataFolder, { recursive: true, force: true });
  };
  const log: string[] = [];
  const environment = {
    NODE_ENV: 'test',
    // SERVE=gateway npx jest test/integration/gateway runs the tests against a single role.
    SERVE: process.env['SERVE'] ?? 'all',
    PORT: '0',
    METRICS_PORT: '0',
    LOG_LEVEL: 'info',
    LOG_FORMAT: 'json',
    DATA_FOLDER: dataFolder,
    // Accepted for a public BASE_URL, which counts as production.
    SESSION_SECRET: 'k3Jx9vQm2Lr8Tz5Wn7Yb4Hc6Pd1Sg0Fa',
    KEY_PEPPER: 'b8Rw2Xc7Vn4Mq1Zk6Ty9Jh3Gf5Dp0LsE',
    MASTER_KEY: '1:q0v7m1Z3p5s8u2w4y6A9C1E3G5I7K9M1O3Q5S7U9W0Y=',
    DATABASE_URL: url,
    MIGRATION_DATABASE_URL: ownerUrl,
    DATABASE_POOL_SIZE: '5',
    DRAIN_TIMEOUT: '5s',
    // A confirmed change is in effect, however slow the machine is.
    APPLY_TIMEOUT: '1m',
    SANDBOX: 'off',
    // Tests never query the network: no DNS server listens on port 9.
    DNS_SERVERS: '127.0.0.1:9',
    // Records are committed before the response is sent.
    SETTLE_ACK: 'commit',
    // Tests of other features are not rate-limited.
    KEY_RATE_LIMIT_RPM: '1000000',
    KEY_FAILURES_PER_MINUTE: '1000000',
    PUBLIC_REQUESTS_PER_MINUTE: '1000000',
    // Every refusal is recorded.
    REFUSAL_SAMPLE: '1',
    ...options.environment,
  };
  const settings = loadSettings(environment);
  const logger = Logger.create(settings, { write: (line) => log.push(line) });
  const service = await startService(settings, logger, {
    extraModules: options.modules ?? [],
    schedule: options.schedule ?? false,
    environment,
    ...(options.sandboxUrl === undefined ? {} : { sandboxUrl: options.sandboxUrl }),
  }).catch(async (error: unknown) => {
    await cleanUp();
    throw error;
  });
  const end = async (): Promise<void> => {
    const differences = await findBookDifferences(url);
    await cleanUp();
    if (differences.length > 0) throw new Error(`money does not add up: ${JSON.stringify(differences)}`);
  };
  let closing: Promise<void> | undefined;
  return {
    ...service,
    database: service.application.get(Database),
    log,
    environment,
    close: async () => {
      await service.close();
      // Runs once, however often it is called: the books must not be read while the database is being dropped.
      await (closing ??= end());
    },
  };
}

/** Runs after every test file of every suite; books that cannot be read count as a difference. */
async function findBookDifferences(url: string): Promise<readonly object[]> {
  const source = new DataSource({ type: 'postgres', url, poolSize: 1 });
  try {
    await source.initialize();
    const { checks } = await verifyMoney(new Database(source));
    return checks.filter(({ wrong }) => wrong.length > 0);
  } catch (error) {
    return [{ unread: String(error) }];
  } finally {
    if (source.isInitialized) await source.destroy();
  }
}
