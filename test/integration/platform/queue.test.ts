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
import { proxyTo } from '../../support/proxy';
import { createTestDatabase, type TestDatabase } from '../../support/postgres';
import { redisAvailable, type RedisServer, startRedis } from '../../system/redis-server';
import { until } from '../../support/until';

// On a shared Redis the queues of an earlier run may still be there.
const name = `errands-${randomUUID().slice(0, 8)}`;

interface Errand {
  readonly label: string;
  readonly failures?: number;
}

/** The diary has what the workers did, and a way to wait for it. */
class Diary {
  readonly entries: string[] = [];
  private waiting: { wanted: string; resolve: () => void }[] = [];
  gate: Promise<void> = Promise.resolve();

  note(entry: string): void {
    this.entries.push(entry);
    for (const { wanted, resolve } of this.waiting) if (wanted === entry) resolve();
  }

  async seen(wanted: string): Promise<void> {
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
  constructor(private readonly diary: Diary) {
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
class Desk implements OnApplicationShutdown {
  constructor(
    @InjectQueue(name) readonly queue: Queue,
    private readonly diary: Diary,
  ) {}

  onApplicationShutdown(): void {
    this.diary.note('database closed');
  }
}

@Module({ imports: [QueueModule.registerQueue(name)], providers: [Errands, Desk, Diary] })
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

    // A worker left running by a failed test would take the jobs of the next one.
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
      const trial = { module: class QueueTrial {}, imports };
      const module = await NestFactory.createApplicationContext(trial, { logger: false });
      open.add(module);
      if (start) module.get(QueueSupervisor).startWorkers();
      const metrics = module.get(Metrics).registry;
      return { module, queue: module.get(Desk).queue, diary: module.get(Diary), metrics };
    }

    test('a job is taken while the service still starts, and worked on once it has', async () => {
      const { module, queue, diary } = await boot({}, false);
      await addJob<Errand>(queue, { name: 'errand', data: { label: 'early' } });
      expect(await queue.getWaitingCount()).toBe(1);
      expect(diary.entries).toEqual([]);
      module.get(QueueSupervisor).startWorkers();
      await diary.seen('early:done');
    });

    test('jobs are worked on, repeated after a failure, and given up in the end', async () => {
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
      await Promise.all(['plain:done', 'shaky:done', 'hopeless:start'].map((entry) => diary.seen(entry)));
      const ended = [
        `dead_jobs_total{queue="${name}"} 2`,
        `jobs_total{queue="${name}",outcome="completed"} 2`,
        `jobs_total{queue="${name}",outcome="failed"} 5`,
      ];
      await until(async () => {
        const counted = await metrics.metrics();
        return ended.every((line) => counted.includes(`gateway_${line}`));
      });

      expect(diary.entries.filter((entry) => entry === 'shaky:start')).toHaveLength(3);
      expect(diary.entries.filter((entry) => entry === 'doomed:start')).toHaveLength(2);
      const dead = (await queue.getFailed()).map((job) => (job.data as Errand).label);
      expect(dead.sort()).toEqual(['doomed', 'hopeless']);
      expect(lines.filter((line) => line.includes('job given up'))).toHaveLength(2);
    });

    if (backend === 'PostgreSQL')
      test('a database that breaks every connection at the start holds up nothing, and is used once it is back', async () => {
        const proxy = await proxyTo(database.url);
        await proxy.cut();
        const broken = createServer((socket) => socket.destroy());
        broken.listen(Number(new URL(proxy.url).port), '127.0.0.1');
        await once(broken, 'listening');
        try {
          const from = lines.length;
          const { queue, diary } = await boot({}, true, proxy.url);
          const early = addJob<Errand>(queue, { name: 'errand', data: { label: 'patient' } });
          const isBroken = (line: string): boolean => line.includes('worker error');
          await until(() => Promise.resolve(lines.slice(from).some(isBroken)));
          // Timers run: the worker does not ask without a pause.
          await delay(1_000);
          expect(lines.slice(from).filter(isBroken).length).toBeLessThan(20);
          await new Promise((closed) => broken.close(closed));
          await proxy.restore();
          await early;
          await diary.seen('patient:done');
        } finally {
          broken.close();
          await Promise.all([...open].map((module) => module.close()));
          open.clear();
          await proxy.close();
        }
      });

    if (backend === 'PostgreSQL')
      test('a database that ends connections as they begin ends no worker', async () => {
        const proxy = await proxyTo(database.url);
        try {
          const { queue, diary } = await boot({}, true, proxy.url);
          await addJob(queue, { name: 'errand', data: { label: 'before' } });
          await diary.seen('before:done');
          await until(async () => (await queue.getActiveCount()) === 0);
          await proxy.cut();
          await proxy.restore();
          proxy.endNewcomers();
          // The log tells one such failure of each place, and counts the others.
          await until(() => proxy.ended() >= 4);
          await proxy.cut();
          await proxy.restore();
          await addJob(queue, { name: 'errand', data: { label: 'after' } });
          await diary.seen('after:done');
        } finally {
          await Promise.all([...open].map((module) => module.close()));
          open.clear();
          await proxy.close();
        }
      });

    if (backend === 'PostgreSQL')
      test('a worker whose connection ends as it begins to listen listens on the next one', async () => {
        const proxy = await proxyTo(database.url);
        try {
          const { queue, diary } = await boot({}, true, proxy.url);
          await addJob(queue, { name: 'errand', data: { label: 'heard' } });
          await diary.seen('heard:done');
          // Its end is written before the connection is lost; otherwise the job would be repeated.
          await until(async () => (await queue.getActiveCount()) === 0);
          // After a failure the worker relies on being told, however long that takes.
          proxy.endNewcomers();
          await until(() => proxy.ended() >= 2);
          await proxy.cut();
          proxy.endNextListener();
          const before = proxy.ended();
          await proxy.restore();
          await until(() => proxy.ended() > before);
          await addJob(queue, { name: 'errand', data: { label: 'told' } });
          await diary.seen('told:done');
        } finally {
          await Promise.all([...open].map((module) => module.close()));
          open.clear();
          await proxy.close();
        }
      });

    test('the same id is one job, and an id cannot break out of its name', async () => {
      const { module, queue, diary } = await boot({ WORKERS: 'off' });
      for (let n = 0; n < 3; n++)
        await addJob(queue, { name: 'errand', data: { label: 'once' }, id: 'once-1' });
      expect(await queue.getWaitingCount()).toBe(1);
      await expect(addJob(queue, { name: 'errand', data: {}, id: 'a:b' })).rejects.toThrow(RangeError);
      expect(diary.entries).toEqual([]);
      await module.close();

      const working = await boot();
      await working.diary.seen('once:done');
      await working.module.close();
      expect(working.diary.entries.filter((entry) => entry === 'once:start')).toHaveLength(1);
    });

    test('a running job ends before anything it needs is closed', async () => {
      const { module, queue, diary } = await boot();
      const { promise, resolve } = Promise.withResolvers<void>();
      diary.gate = promise;
      await addJob(queue, { name: 'errand', data: { label: 'slow' } });
      await diary.seen('slow:start');
      const closed = module.close();
      setImmediate(resolve);
      await closed;
      expect(diary.entries).toEqual(['slow:start', 'slow:done', 'database closed']);
    });

    test('a worker whose clock is wrong takes no job until it is right', async () => {
      const { queue, diary } = await boot();
      await addJob(queue, { name: 'errand', data: { label: 'first' } });
      await diary.seen('first:done');
      const real = Date.now.bind(Date);
      const ahead = jest.spyOn(Date, 'now').mockImplementation(() => real() + 40 * 86_400_000);
      try {
        for (const label of ['second', 'third']) await addJob(queue, { name: 'errand', data: { label } });
        await delay(1_500);
        expect(diary.entries).toEqual(['first:start', 'first:done']);
        expect(await queue.getWaitingCount()).toBe(2);
      } finally {
        ahead.mockRestore();
      }
      await Promise.all(['second:done', 'third:done'].map((entry) => diary.seen(entry)));
    });

    test('a job that will not end does not keep the service from stopping', async () => {
      const { module, queue, diary } = await boot({ DRAIN_TIMEOUT: '50ms' });
      diary.gate = new Promise(() => undefined);
      await addJob(queue, { name: 'errand', data: { label: 'slow' } });
      await diary.seen('slow:start');
      await module.close();
      expect(diary.entries).toEqual(['slow:start', 'database closed']);
      const later = await boot({ WORKERS: 'off' });
      expect(await later.queue.getDelayedCount()).toBe(1);
      expect(lines.some((line) => line.includes('did not end in time'))).toBe(true);
    });
  });
}

test('a store that does not answer fails the caller within seconds', async () => {
  const silent = { name: 'silent', add: () => new Promise(() => undefined) } as unknown as Queue;
  jest.useFakeTimers();
  try {
    const added = expect(addJob(silent, { name: 'x', data: {} })).rejects.toThrow('silent does not answer');
    // A millisecond more: what has arrived is read before the failure is declared.
    await jest.advanceTimersByTimeAsync(5_001);
    await added;
  } finally {
    jest.useRealTimers();
  }
});
