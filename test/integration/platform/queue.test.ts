import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { type INestApplicationContext, Injectable, Module, type OnApplicationShutdown } from '@nestjs/common';
import { NestFactory } from '#inside/boot/packages';
import { ConfigModule, loadSettings } from '#inside/platform/config/index';
import { DatabaseModule } from '#inside/platform/database/index';
import { Logger, LoggingModule } from '#inside/platform/logging/index';
import { Metrics, MetricsModule } from '#inside/platform/metrics/index';
import {
  addJob,
  InjectQueue,
  type Job,
  Processor,
  Queue,
  QueueModule,
  QueueSupervisor,
  UnrecoverableError,
  WorkerHost,
} from '#inside/platform/queue/index';
import { startDatabaseProxy } from '../../support/proxy';
import { createTestDatabase, type TestDatabase } from '../../support/postgres';
import { redisAvailable, type RedisServer, startRedis } from '../../system/redis-server';
import { until } from '../../support/until';

// A unique name, because a shared Redis can still have the queues of an earlier run.
const name = `errands-${randomUUID().slice(0, 8)}`;

interface Errand {
  readonly label: string;
  readonly failures?: number;
}

/** Records the work of the processors and lets tests wait for it. */
class WorkLog {
  readonly entries: string[] = [];
  private waiting: { wanted: string; resolve: () => void }[] = [];
  gate: Promise<void> = Promise.resolve();

  note(entry: string): void {
    this.entries.push(entry);
    for (const { wanted, resolve } of this.waiting) if (wanted === entry) resolve();
  }

  async waitFor(wanted: string): Promise<void> {
    if (this.entries.includes(wanted)) return;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const timer = setTimeout(
      () => reject(new Error(`never saw ${wanted} in ${this.entries.join()}`)),
      15_000,
    );
    this.waiting.push({ wanted, resolve });
    await promise.finally(() => clearTimeout(timer));
  }
}

@Processor(name, { concurrency: 4 })
class Errands extends WorkerHost {
  constructor(private readonly diary: WorkLog) {
    super();
  }

  override async process(job: Job<Errand>): Promise<void> {
    const { label, failures = 0 } = job.data;
    this.diary.note(`${label}:start`);
    if (job.attemptsMade < failures) throw new Error(`${label} failed`);
    if (label === 'hopeless') throw new UnrecoverableError('hopeless');
    if (label === 'slow') await this.diary.gate;
    this.diary.note(`${label}:done`);
  }
}

@Injectable()
class QueueOwner implements OnApplicationShutdown {
  constructor(
    @InjectQueue(name) readonly queue: Queue,
    private readonly diary: WorkLog,
  ) {}

  onApplicationShutdown(): void {
    this.diary.note('database closed');
  }
}

@Module({ imports: [QueueModule.registerQueue(name)], providers: [Errands, QueueOwner, WorkLog] })
class ErrandModule {}

const backends = [
  { backend: 'PostgreSQL', available: true },
  { backend: 'Redis', available: redisAvailable },
];

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

for (const { backend, available } of backends) {
  (available ? describe : describe.skip)(`the queue on ${backend}`, () => {
    let redis: RedisServer | undefined;
    const lines: string[] = [];

    beforeAll(async () => {
      if (backend === 'Redis') redis = await startRedis();
    });
    afterAll(() => redis?.stop());

    // Open applications; a worker left running by a failed test would take the jobs of the next one.
    const open = new Set<INestApplicationContext>();
    afterEach(async () => {
      await Promise.all([...open].map((module) => module.close()));
      open.clear();
    });

    async function boot(env: Record<string, string> = {}, start = true, databaseUrl = database.url) {
      const settings = loadSettings({
        ...(redis && { REDIS_URL: redis.url }),
        SESSION_SECRET: 'a',
        KEY_PEPPER: 'b',
        MASTER_KEY: 'c',
        ...env,
      });
      const logger = Logger.create(
        { logLevel: 'info', logFormat: 'json' },
        { write: (line: string) => lines.push(line) },
      );
      const imports = [
        ConfigModule.forRoot(settings),
        LoggingModule.forRoot(logger),
        MetricsModule.forRoot({ version: '0', commit: '0' }),
        DatabaseModule.forRoot({ url: database.url, entities: [] }),
        QueueModule.forRoot({ databaseUrl }),
        ErrandModule,
      ];
      const rootModule = { module: class QueueTrial {}, imports };
      const module = await NestFactory.createApplicationContext(rootModule, { logger: false });
      open.add(module);
      if (start) module.get(QueueSupervisor).startWorkers();
      const metrics = module.get(Metrics).registry;
      return { module, queue: module.get(QueueOwner).queue, diary: module.get(WorkLog), metrics };
    }

    test('a job added during start-up is processed once the service has started', async () => {
      const { module, queue, diary } = await boot({}, false);
      await addJob<Errand>(queue, { name: 'errand', data: { label: 'early' } });
      expect(await queue.getWaitingCount()).toBe(1);
      expect(diary.entries).toEqual([]);
      module.get(QueueSupervisor).startWorkers();
      await diary.waitFor('early:done');
    });

    test('jobs are processed, retried after a failure, and finally marked as failed', async () => {
      const { queue, diary, metrics } = await boot();
      const backoff = { type: 'fixed', delay: 10 };
      await addJob<Errand>(queue, { name: 'errand', data: { label: 'plain' } });
      await addJob<Errand>(queue, {
        name: 'errand',
        data: { label: 'shaky', failures: 2 },
        options: { attempts: 3, backoff },
      });
      await addJob<Errand>(queue, {
        name: 'errand',
        data: { label: 'doomed', failures: 9 },
        options: { attempts: 2, backoff },
      });
      await addJob<Errand>(queue, { name: 'errand', data: { label: 'hopeless' } });
      await Promise.all(['plain:done', 'shaky:done', 'hopeless:start'].map((entry) => diary.waitFor(entry)));
      const endedJobs = [
        `dead_jobs_total{queue="${name}"} 2`,
        `jobs_total{queue="${name}",outcome="completed"} 2`,
        `jobs_total{queue="${name}",outcome="failed"} 5`,
      ];
      await until(async () => {
        const metricsText = await metrics.metrics();
        return endedJobs.every((line) => metricsText.includes(`gateway_${line}`));
      });

      expect(diary.entries.filter((entry) => entry === 'shaky:start')).toHaveLength(3);
      expect(diary.entries.filter((entry) => entry === 'doomed:start')).toHaveLength(2);
      const failedLabels = (await queue.getFailed()).map((job) => (job.data as Errand).label);
      expect(failedLabels.sort()).toEqual(['doomed', 'hopeless']);
      expect(lines.filter((line) => line.includes('job given up'))).toHaveLength(2);
    });

    if (backend === 'PostgreSQL')
      test('a database that breaks every connection does not block the start, and is used once it is back', async () => {
        const proxy = await startDatabaseProxy(database.url);
        await proxy.cut();
        const brokenServer = createServer((socket) => socket.destroy());
        brokenServer.listen(Number(new URL(proxy.url).port), '127.0.0.1');
        await once(brokenServer, 'listening');
        try {
          const firstLine = lines.length;
          const { queue, diary } = await boot({}, true, proxy.url);
          const earlyJob = addJob<Errand>(queue, { name: 'errand', data: { label: 'patient' } });
          const isBroken = (line: string): boolean => line.includes('worker error');
          await until(() => Promise.resolve(lines.slice(firstLine).some(isBroken)));
          // Allows the retry timers to run: the worker must pause between attempts.
          await delay(1_000);
          expect(lines.slice(firstLine).filter(isBroken).length).toBeLessThan(20);
          await new Promise((closed) => brokenServer.close(closed));
          await proxy.restore();
          await earlyJob;
          await diary.waitFor('patient:done');
        } finally {
          brokenServer.close();
          await Promise.all([...open].map((module) => module.close()));
          open.clear();
          await proxy.close();
        }
      });

    if (backend === 'PostgreSQL')
      test('a database that ends connections at their start does not stop the worker', async () => {
        const proxy = await startDatabaseProxy(database.url);
        try {
          const { queue, diary } = await boot({}, true, proxy.url);
          await addJob(queue, { name: 'errand', data: { label: 'before' } });
          await diary.waitFor('before:done');
          await until(async () => (await queue.getActiveCount()) === 0);
          await proxy.cut();
          await proxy.restore();
          proxy.endNewConnections();
          // The log reports each kind of failure once and counts the others.
          await until(() => proxy.ended() >= 4);
          await proxy.cut();
          await proxy.restore();
          await addJob(queue, { name: 'errand', data: { label: 'after' } });
          await diary.waitFor('after:done');
        } finally {
          await Promise.all([...open].map((module) => module.close()));
          open.clear();
          await proxy.close();
        }
      });

    if (backend === 'PostgreSQL')
      test('a worker whose listening connection ends immediately listens on the next one', async () => {
        const proxy = await startDatabaseProxy(database.url);
        try {
          const { queue, diary } = await boot({}, true, proxy.url);
          await addJob(queue, { name: 'errand', data: { label: 'heard' } });
          await diary.waitFor('heard:done');
          // The end of the job is stored before the connection is lost; otherwise the job would be repeated.
          await until(async () => (await queue.getActiveCount()) === 0);
          // After a failure the worker waits for a notification, however long that takes.
          proxy.endNewConnections();
          await until(() => proxy.ended() >= 2);
          await proxy.cut();
          proxy.endNextListener();
          const endedBefore = proxy.ended();
          await proxy.restore();
          await until(() => proxy.ended() > endedBefore);
          await addJob(queue, { name: 'errand', data: { label: 'told' } });
          await diary.waitFor('told:done');
        } finally {
          await Promise.all([...open].map((module) => module.close()));
          open.clear();
          await proxy.close();
        }
      });

    test('jobs with the same id are one job, and a malicious id stays within its queue', async () => {
      const { module, queue, diary } = await boot({ WORKERS: 'off' });
      for (let n = 0; n < 3; n++)
        await addJob(queue, { name: 'errand', data: { label: 'once' }, id: 'once-1' });
      expect(await queue.getWaitingCount()).toBe(1);
      await expect(addJob(queue, { name: 'errand', data: {}, id: 'a:b' })).rejects.toThrow(RangeError);
      expect(diary.entries).toEqual([]);
      await module.close();

      const workingNode = await boot();
      await workingNode.diary.waitFor('once:done');
      await workingNode.module.close();
      expect(workingNode.diary.entries.filter((entry) => entry === 'once:start')).toHaveLength(1);
    });

    test("shutdown waits for a running job before it closes the job's dependencies", async () => {
      const { module, queue, diary } = await boot();
      const { promise, resolve } = Promise.withResolvers<void>();
      diary.gate = promise;
      await addJob(queue, { name: 'errand', data: { label: 'slow' } });
      await diary.waitFor('slow:start');
      const closing = module.close();
      setImmediate(resolve);
      await closing;
      expect(diary.entries).toEqual(['slow:start', 'slow:done', 'database closed']);
    });

    test('a worker with a wrong clock takes no job until the clock is right', async () => {
      const { queue, diary } = await boot();
      await addJob(queue, { name: 'errand', data: { label: 'first' } });
      await diary.waitFor('first:done');
      const real = Date.now.bind(Date);
      const wrongClock = jest.spyOn(Date, 'now').mockImplementation(() => real() + 40 * 86_400_000);
      try {
        for (const label of ['second', 'third']) await addJob(queue, { name: 'errand', data: { label } });
        await delay(1_500);
        expect(diary.entries).toEqual(['first:start', 'first:done']);
        expect(await queue.getWaitingCount()).toBe(2);
      } finally {
        wrongClock.mockRestore();
      }
      await Promise.all(['second:done', 'third:done'].map((entry) => diary.waitFor(entry)));
    });

    test('a job that never ends does not block the shutdown', async () => {
      const { module, queue, diary } = await boot({ DRAIN_TIMEOUT: '50ms' });
      diary.gate = new Promise(() => undefined);
      await addJob(queue, { name: 'errand', data: { label: 'slow' } });
      await diary.waitFor('slow:start');
      await module.close();
      expect(diary.entries).toEqual(['slow:start', 'database closed']);
      const nextNode = await boot({ WORKERS: 'off' });
      expect(await nextNode.queue.getDelayedCount()).toBe(1);
      expect(lines.some((line) => line.includes('did not end in time'))).toBe(true);
    });
  });
}

test('an unresponsive store fails the caller within seconds', async () => {
  const silentQueue = { name: 'silent', add: () => new Promise(() => undefined) } as unknown as Queue;
  jest.useFakeTimers();
  try {
    const failedAdd = expect(addJob(silentQueue, { name: 'x', data: {} })).rejects.toThrow(
      'silent does not answer',
    );
    // An extra millisecond, because pending input is read before the timeout is declared.
    await jest.advanceTimersByTimeAsync(5_001);
    await failedAdd;
  } finally {
    jest.useRealTimers();
  }
});
