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
  /** Every line the service logged, for tests of what must not be in there. */
  readonly log: string[];
  /** Its settings, for processes that are started beside it. */
  readonly environment: Readonly<Record<string, string>>;
}

export interface TestAppOptions {
  readonly environment?: Readonly<Record<string, string>>;
  readonly modules?: readonly Type[];
  /** A simulator that answers the sandbox models. */
  readonly sandboxUrl?: string;
  /** Repeating jobs run by their schedule. Otherwise a test calls those it means, and none comes between. */
  readonly schedule?: boolean;
  /** For a second node on one database; its maker drops it. */
  readonly sharedDatabase?: Pick<TestDatabase, 'url' | 'ownerUrl'>;
}

/** The whole service on a port of its own, with a database of its own: what runs is what ships. */
export async function startTestApp(options: TestAppOptions = {}): Promise<TestApp> {
  const own = options.sharedDatabase === undefined ? await createTestDatabase() : null;
  const { url, ownerUrl } = options.sharedDatabase ?? (own as TestDatabase);
  const dataFolder = makeScratchFolder('switchboard-data-');
  const cleanUp = async () => {
    await own?.drop();
    rmSync(dataFolder, { recursive: true, force: true });
  };
  const log: string[] = [];
  const environment = {
    NODE_ENV: 'test',
    // SERVE=gateway npx jest test/integration/gateway: a role serves what all serve.
    SERVE: process.env['SERVE'] ?? 'all',
    PORT: '0',
    METRICS_PORT: '0',
    LOG_LEVEL: 'info',
    LOG_FORMAT: 'json',
    DATA_FOLDER: dataFolder,
    // Fit for a public BASE_URL, which is production.
    SESSION_SECRET: 'k3Jx9vQm2Lr8Tz5Wn7Yb4Hc6Pd1Sg0Fa',
    KEY_PEPPER: 'b8Rw2Xc7Vn4Mq1Zk6Ty9Jh3Gf5Dp0LsE',
    MASTER_KEY: '1:q0v7m1Z3p5s8u2w4y6A9C1E3G5I7K9M1O3Q5S7U9W0Y=',
    DATABASE_URL: url,
    MIGRATION_DATABASE_URL: ownerUrl,
    DATABASE_POOL_SIZE: '5',
    DRAIN_TIMEOUT: '5s',
    // However slow the machine is, an answered change is in force.
    APPLY_TIMEOUT: '1m',
    SANDBOX: 'off',
    // No test asks the network: nobody answers there.
    DNS_SERVERS: '127.0.0.1:9',
    // Rows are there when the answer is.
    SETTLE_ACK: 'commit',
    // Tests of something else ask as often as they like.
    KEY_RATE_LIMIT_RPM: '1000000',
    KEY_FAILURES_PER_MINUTE: '1000000',
    PUBLIC_REQUESTS_PER_MINUTE: '1000000',
    // And look for what was refused of it.
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
    const wrong = await bookDifferences(url);
    await cleanUp();
    if (wrong.length > 0) throw new Error(`money does not add up: ${JSON.stringify(wrong)}`);
  };
  let ended: Promise<void> | undefined;
  return {
    ...service,
    database: service.application.get(Database),
    log,
    environment,
    close: async () => {
      await service.close();
      // Once, however often it is asked for: nobody reads books whose database another is dropping.
      await (ended ??= end());
    },
  };
}

/** Checked after every test file, in every suite; books that cannot be read do not add up. */
async function bookDifferences(url: string): Promise<readonly object[]> {
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
