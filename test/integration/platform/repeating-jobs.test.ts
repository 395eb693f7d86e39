import 'reflect-metadata';
import { setTimeout as delay } from 'node:timers/promises';
import { getQueueToken } from '@nestjs/bullmq';
import { Injectable, Module } from '@nestjs/common';
import { Queue, RepeatingJob, RepeatingJobs } from '../../../src/platform';
import { addJob } from '../../../src/platform/queue';
import { startTestApp, type TestApp } from '../../support/app';
import { until } from '../../support/until';

const runs: string[] = [];

@Injectable()
class Sweeper {
  private readonly name = 'sweeper';

  @RepeatingJob({ name: 'sweep', cron: '0 4 * * *' })
  sweep(signal: AbortSignal): Promise<void> {
    runs.push(`${this.name} ${signal.aborted ? 'late' : 'in time'}`);
    return Promise.resolve();
  }

  @RepeatingJob({ name: 'short', cron: '0 5 * * *', deadlineMs: 20 })
  async waitForSignal(signal: AbortSignal): Promise<void> {
    await delay(30_000, undefined, { signal }).catch(() => runs.push('told to end'));
  }
}

@Injectable()
class Namesake {
  @RepeatingJob({ name: 'sweep', cron: '0 4 * * *' })
  sweep(): Promise<void> {
    return Promise.resolve();
  }
}

@Module({ providers: [Sweeper] })
class Extension {}

@Module({ providers: [Sweeper, Namesake] })
class Twins {}

let app: TestApp;
let queue: Queue;
beforeAll(async () => {
  app = await startTestApp({ modules: [Extension], schedule: true });
  queue = app.application.get<Queue>(getQueueToken('upkeep'), { strict: false });
});
afterAll(() => app.close());

test('the jobs of all modules are announced, those of an extension too', async () => {
  const known = (await queue.getJobSchedulers()).map(({ name, pattern }) => [name, pattern]);
  expect(known).toEqual(
    expect.arrayContaining([
      ['partitions', '10 2 * * *'],
      ['verify-money', '40 2 * * *'],
      ['idempotent-answers', '*/10 * * * *'],
      ['kept-responses', '5-59/10 * * * *'],
      ['token-events', '25 3 * * *'],
      ['activity', '35 3 * * *'],
      ['sweep', '0 4 * * *'],
      ['short', '0 5 * * *'],
    ]),
  );
});

test('a job runs with its provider, and is told when its time is up; an unknown one harms none', async () => {
  for (const name of ['of-another-version', 'sweep', 'short']) await addJob(queue, { name, data: {} });
  await until(() => runs.length === 2);
  expect(runs).toEqual(['sweeper in time', 'told to end']);
  expect(await queue.getFailedCount()).toBe(0);
  await expect(
    app.application.get(RepeatingJobs, { strict: false }).run('partitions'),
  ).resolves.toBeUndefined();
});

test('two jobs of one name do not start', async () => {
  await expect(startTestApp({ modules: [Twins] })).rejects.toThrow('two repeating jobs are called sweep');
});
