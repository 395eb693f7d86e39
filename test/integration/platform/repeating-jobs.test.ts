import 'reflect-metadata';
import { setTimeout as delay } from 'node:timers/promises';
import { Injectable, Module } from '@nestjs/common';
import { ClockWatch, Database, Metrics, RepeatingJob, RepeatingJobs } from '#product/platform';
import { startTestApp, type TestApp } from '../../support/app';
import { until } from '../../support/until';

const runs: string[] = [];
const failingJobs = new Set<string>();

@Injectable()
class Sweeper {
  private readonly name = 'sweeper';

  @RepeatingJob({ name: 'sweep', cron: '0 4 * * *' })
  sweep(signal: AbortSignal): Promise<void> {
    runs.push(`${this.name} ${signal.aborted ? 'late' : 'in time'}`);
    if (failingJobs.has('sweep')) return Promise.reject(new Error('the broom is broken'));
    return Promise.resolve();
  }

  @RepeatingJob({ name: 'short', cron: '0 5 * * *', deadlineMs: 20 })
  async waitForSignal(signal: AbortSignal): Promise<void> {
    await delay(30_000, undefined, { signal }).catch(() => runs.push('told to end'));
  }
}

@Injectable()
class Stubborn {
  ended: Promise<void> = Promise.resolve();

  @RepeatingJob({ name: 'stubborn', cron: '0 6 * * *' })
  async ignoreSignal(): Promise<void> {
    runs.push('begun');
    await this.ended;
  }
}

@Injectable()
class Namesake {
  @RepeatingJob({ name: 'sweep', cron: '0 4 * * *' })
  sweep(): Promise<void> {
    return Promise.resolve();
  }
}

@Module({ providers: [Sweeper, Stubborn] })
class Extension {}

@Module({ providers: [Sweeper, Namesake] })
class Twins {}

interface RepeatingJobRow {
  readonly name: string;
  readonly cron: string;
  readonly due: string;
  readonly failures: number;
  readonly succeeded: boolean;
  readonly claimed: boolean;
}

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp({ modules: [Extension], schedule: true });
  await until(async () => (await rows()).length > 0);
});
afterAll(() => app.close());
beforeEach(() => {
  runs.length = 0;
  failingJobs.clear();
});

const rows = (): Promise<RepeatingJobRow[]> =>
  app.database.query<RepeatingJobRow>(
    `SELECT name, cron, to_char(due_at AT TIME ZONE 'UTC', 'HH24:MI:SS') AS due, failures,
            succeeded_at > now() - interval '1 minute' IS TRUE AS succeeded, claim IS NOT NULL AS claimed
       FROM repeating_job ORDER BY name`,
  );
const row = async (name: string): Promise<RepeatingJobRow | undefined> =>
  (await rows()).find((each) => each.name === name);
const makeDue = (name: string): Promise<unknown> =>
  app.database.query("UPDATE repeating_job SET due_at = now() - interval '1 second' WHERE name = $1", [name]);
const metric = async (name: string): Promise<string | undefined> =>
  (await app.application.get(Metrics).text()).split('\n').find((line) => line.startsWith(name));

test('the jobs of all modules and extensions have rows', async () => {
  const knownJobs = (await rows()).map(({ name, cron }) => [name, cron]);
  expect(knownJobs).toEqual(
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
  expect(await row('sweep')).toMatchObject({ due: '04:00:00', succeeded: false });
});

test('a due job runs with its provider, is aborted after its time limit, and is scheduled again', async () => {
  await makeDue('sweep');
  await makeDue('short');
  await until(
    async () => (await rows()).filter(({ name, succeeded }) => succeeded && /^s/.test(name)).length === 2,
  );
  expect(runs.sort()).toEqual(['sweeper in time', 'told to end']);
  expect(await row('sweep')).toMatchObject({ due: '04:00:00', failures: 0, claimed: false });
  expect(await row('short')).toMatchObject({ due: '05:00:00', failures: 0, claimed: false });
});

test.each([
  ['sweep', 'stubborn'],
  ['stubborn', 'sweep'],
])('the longer overdue of two due jobs starts first: %s', async (first, second) => {
  await app.database.query(
    `UPDATE repeating_job SET due_at = now() - CASE WHEN name = $1 THEN 2 ELSE 1 END * interval '1 minute'
      WHERE name IN ($1, $2)`,
    [first, second],
  );
  await until(() => runs.length === 2);
  expect(runs[0]).toBe(first === 'sweep' ? 'sweeper in time' : 'begun');
  await until(
    async () => (await row('sweep'))?.due === '04:00:00' && (await row('stubborn'))?.due === '06:00:00',
  );
});

test('a failed job is retried, and its overdue success is reported', async () => {
  await app.database.query(
    "UPDATE repeating_job SET succeeded_at = NULL, succeed_by = now() - interval '1 second' WHERE name = 'sweep'",
  );
  failingJobs.add('sweep');
  await makeDue('sweep');
  await until(async () => ((await row('sweep'))?.failures ?? 0) >= 1);
  expect(await row('sweep')).toMatchObject({ succeeded: false });
  failingJobs.clear();
  await until(async () => (await row('sweep'))?.succeeded === true);
  expect(await row('sweep')).toMatchObject({ due: '04:00:00', failures: 0 });
  await until(
    async () => (await metric('gateway_job_last_success_timestamp_seconds{job="sweep"}')) !== undefined,
  );
  // Metrics reflect the last poll of the rows.
  await until(async () => {
    const due = (await metric('gateway_job_success_due_timestamp_seconds{job="sweep"}'))?.split(' ')[1];
    return Number(due) * 1_000 > Date.now();
  });
});

test('a job of a crashed node runs once its claim has expired, and not before', async () => {
  await app.database.query(
    `UPDATE repeating_job SET due_at = now() - interval '1 minute', claim = gen_random_uuid(),
            claimed_until = now() + CASE name WHEN 'short' THEN interval '1 hour' ELSE interval '-1 second' END
      WHERE name IN ('sweep', 'short')`,
  );
  await until(() => Promise.resolve(runs.length > 0));
  expect(runs).toEqual(['sweeper in time']);
  expect(await row('short')).toMatchObject({ claimed: true });
});

test('a claim whose response is lost is released, and its job runs', async () => {
  const database = app.application.get(Database);
  const query = database.query.bind(database);
  let lostCount = 0;
  const losingQuery = jest.spyOn(database, 'query').mockImplementation(async (sql, parameters) => {
    const answer = await query(sql, parameters);
    if (!sql.includes('WITH claimed') || parameters?.[0] !== 'sweep' || lostCount > 0) return answer;
    lostCount += 1;
    throw new Error('Connection terminated unexpectedly');
  });
  try {
    await makeDue('sweep');
    await until(() => Promise.resolve(runs.length > 0));
    expect(lostCount).toBe(1);
    await until(async () => (await row('sweep'))?.due === '04:00:00');
    expect(runs).toEqual(['sweeper in time']);
  } finally {
    losingQuery.mockRestore();
  }
});

test.each(['succeeds', 'fails'])(
  'the end of a job that %s is stored later if it could not be stored immediately',
  async (how) => {
    const database = app.application.get(Database);
    const query = database.query.bind(database);
    let lostCount = 0;
    const losingQuery = jest.spyOn(database, 'query').mockImplementation((sql, parameters) => {
      const isEnd = sql.includes(how === 'fails' ? 'failures = failures + 1' : 'failures = 0');
      if (!isEnd || parameters?.[0] !== 'sweep' || lostCount > 0) return query(sql, parameters);
      lostCount += 1;
      return Promise.reject(new Error('Connection terminated unexpectedly'));
    });
    if (how === 'fails') failingJobs.add('sweep');
    try {
      await makeDue('sweep');
      await until(() => lostCount > 0);
      if (how === 'fails') await until(async () => ((await row('sweep'))?.failures ?? 0) >= 1);
      failingJobs.clear();
      await until(async () => (await row('sweep'))?.due === '04:00:00');
      if (how === 'succeeds') expect(runs).toEqual(['sweeper in time']);
      expect(await row('sweep')).toMatchObject({ succeeded: true, failures: 0, claimed: false });
    } finally {
      losingQuery.mockRestore();
    }
  },
);

test('a row removed by another version is created again', async () => {
  await app.database.query("DELETE FROM repeating_job WHERE name = 'sweep'");
  await until(async () => (await row('sweep')) !== undefined);
});

test('a node with a wrong clock takes no job and reports it until the clock is right', async () => {
  const real = Date.now.bind(Date);
  const wrongClock = jest.spyOn(Date, 'now').mockImplementation(() => real() + 40 * 86_400_000);
  try {
    await until(() => Promise.resolve(app.log.some((line) => line.includes('takes no jobs'))));
    await makeDue('sweep');
    await delay(2_500);
    expect(runs).toEqual([]);
    expect(Number((await metric('gateway_clock_ahead_seconds'))?.split(' ')[1])).toBeCloseTo(40 * 86_400, -1);
  } finally {
    wrongClock.mockRestore();
  }
  await until(async () => (await row('sweep'))?.due === '04:00:00');
  expect(runs).toEqual(['sweeper in time']);
});

test('a node that does not finish a job within 15 minutes is not ready until the job is done', async () => {
  const readiness = async (): Promise<[number, unknown]> => {
    const answer = await fetch(`${app.url}/health/ready`);
    return [answer.status, await answer.json()];
  };
  const { promise, resolve } = Promise.withResolvers<void>();
  app.application.get(Stubborn, { strict: false }).ended = promise;
  await makeDue('stubborn');
  await until(() => Promise.resolve(runs.includes('begun')));
  // The claim has expired, and no other node has taken the job.
  await app.database.query("UPDATE repeating_job SET claimed_until = now() WHERE name = 'stubborn'");
  await delay(1_500);
  expect(await readiness()).toEqual([200, { status: 'ok' }]);
  const real = performance.now.bind(performance);
  // The simulated clock jump must not trigger the clock watch, which is not under test here.
  const clockWatch = jest.spyOn(app.application.get(ClockWatch), 'isRight', 'get').mockReturnValue(true);
  const laterClock = jest.spyOn(performance, 'now').mockImplementation(() => real() + 16 * 60_000);
  try {
    // Every job is blocked until the next poll.
    await until(async () => JSON.stringify(await readiness()).includes('here: stubborn.'));
    expect(await readiness()).toMatchObject([
      503,
      { error: { human_message: 'Jobs are not run here: stubborn.' } },
    ]);
    resolve();
    await until(async () => (await readiness())[0] === 200);
  } finally {
    laterClock.mockRestore();
    clockWatch.mockRestore();
  }
});

test('an unknown job is refused, and a job can be run at any time', async () => {
  const jobs = app.application.get(RepeatingJobs, { strict: false });
  await expect(jobs.run('of-another-version')).rejects.toThrow('no repeating job');
  await expect(jobs.run('partitions')).resolves.toBeUndefined();
});

test('two jobs with the same name prevent the start', async () => {
  await expect(startTestApp({ modules: [Twins] })).rejects.toThrow('two repeating jobs are called sweep');
});
