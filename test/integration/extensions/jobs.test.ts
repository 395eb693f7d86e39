import { Metrics, RepeatingJobs } from '#product/platform';
import { startTestApp, type TestApp } from '../../support/app';
import { NotesExtension } from '../../support/notes-extension';
import { createTestDatabase, queryRows, type TestDatabase } from '../../support/postgres';
import { until } from '../../support/until';

const notes = new NotesExtension('job-notes');
afterAll(() => notes.remove());

interface ExtensionJobRow {
  readonly name: string;
  readonly failures: number;
  readonly succeeded: boolean;
}

describe('Extension jobs', () => {
  let database: TestDatabase;
  let app: TestApp;
  beforeAll(async () => {
    database = await createTestDatabase();
    app = await startTestApp({
      sharedDatabase: database,
      schedule: true,
      environment: { EXTENSIONS: notes.path },
    });
  });
  afterAll(async () => {
    await app.close();
    await database.drop();
  });

  const rows = (): Promise<ExtensionJobRow[]> =>
    queryRows<ExtensionJobRow>(
      database.ownerUrl,
      `SELECT name, failures, succeeded_at IS NOT NULL AS succeeded FROM repeating_job
        WHERE name LIKE 'job-notes/%' ORDER BY name`,
    );
  const makeDue = (name: string): Promise<object[]> =>
    queryRows(database.ownerUrl, `UPDATE repeating_job SET due_at = now() WHERE name = '${name}'`);

  test('run on the schedule of the service, and their last success is measured', async () => {
    await until(async () => (await rows()).length === 3);
    await makeDue('job-notes/work');
    await until(async () =>
      (await rows()).some(({ name, succeeded }) => succeeded && name === 'job-notes/work'),
    );
    const line = 'gateway_job_last_success_timestamp_seconds{job="job-notes/work"}';
    await until(async () => (await app.application.get(Metrics).text()).includes(line));
  });

  test('a failed job is logged with its extension and counted as a failure', async () => {
    await makeDue('job-notes/broken');
    await until(async () => ((await rows())[0]?.failures ?? 0) > 0);
    const lines = app.log.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines).toContainEqual(
      expect.objectContaining({
        msg: 'a job of an extension failed',
        extension: 'job-notes',
        job: 'job-notes/broken',
      }),
    );
  });

  test('a job that ignores its abort signal is abandoned', async () => {
    const run = app.application.get(RepeatingJobs).run('job-notes/deaf');
    await expect(run).rejects.toThrow('it did not end after its signal');
  });
});

test('jobs are removed by a start without the extension and added again by a start with it', async () => {
  const database = await createTestDatabase();
  const names = (): Promise<{ name: string }[]> =>
    queryRows(database.ownerUrl, `SELECT name FROM repeating_job WHERE name LIKE '%/%' ORDER BY name`);
  const startAndExpectJobs = async (list: string, count: number): Promise<void> => {
    const app = await startTestApp({
      sharedDatabase: database,
      schedule: true,
      environment: { EXTENSIONS: list },
    });
    await until(async () => (await names()).length === count);
    await app.close();
  };
  try {
    await startAndExpectJobs(notes.path, 3);
    await startAndExpectJobs('', 0);
    await startAndExpectJobs(notes.path, 3);
  } finally {
    await database.drop();
  }
});

test.each([
  ["'0 3 * * *'", "'61 3 * * *'", 'work of jobs has the cron "61 3 * * *", which cannot be read'],
  ["'0 3 * * *'", "'0 3 31 2 *'", 'work of jobs has the cron "0 3 31 2 *", which cannot be read'],
  ["'0 3 * * *'", "'daily'", 'work of jobs needs a cron of five or six fields'],
])('the cron expression %s changed to %s prevents the start', async (from, to, expected) => {
  const invalid = new NotesExtension('job-notes');
  try {
    invalid.rewrite('index.cjs', (text) => text.replace(from, to));
    const start = startTestApp({ environment: { EXTENSIONS: invalid.path } });
    await expect(start).rejects.toThrow(`The extension job-notes cannot be used: ${expected}`);
  } finally {
    invalid.remove();
  }
});
