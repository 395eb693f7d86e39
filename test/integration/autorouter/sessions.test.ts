import { AutoSessions } from '#product/autorouter';
import { startTestApp, type TestApp } from '../../support/app';
import { addQualityFixture } from '../quality/quality-fixture';

let app: TestApp;

beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

test('expired conversations are deleted in one run, however many there are', async () => {
  const { keyId } = await addQualityFixture(app, 'talkative');
  const insertSessions = (name: string, count: number, minutes: number) =>
    app.database.query(
      `INSERT INTO autorouter_session (key_id, session_hash, model, cached_tokens, expires_at)
       SELECT $1, convert_to($2 || n, 'UTF8'), 'sim-small', 0, now() + make_interval(mins => $4)
         FROM generate_series(1, $3) AS n`,
      [keyId, name, count, minutes],
    );
  await insertSessions('over', 20_001, -1);
  await insertSessions('current', 3, 60);
  await app.application.get(AutoSessions, { strict: false }).deleteExpired(new AbortController().signal);
  expect(await app.database.query('SELECT count(*)::integer AS left FROM autorouter_session')).toEqual([
    { left: 3 },
  ]);
});
