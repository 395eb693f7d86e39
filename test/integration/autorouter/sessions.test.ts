import { AutoSessions } from '#product/autorouter';
import { startTestApp, type TestApp } from '../../support/app';
import { addHouse } from '../quality/house';

let app: TestApp;

beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

test('conversations whose time is over are forgotten in one run, however many they are', async () => {
  const { keyId } = await addHouse(app, 'talkative');
  const put = (name: string, count: number, minutes: number) =>
    app.database.query(
      `INSERT INTO autorouter_session (key_id, session_hash, model, cached_tokens, expires_at)
       SELECT $1, convert_to($2 || n, 'UTF8'), 'sim-small', 0, now() + make_interval(mins => $4)
         FROM generate_series(1, $3) AS n`,
      [keyId, name, count, minutes],
    );
  await put('over', 20_001, -1);
  await put('current', 3, 60);
  await app.application.get(AutoSessions, { strict: false }).deleteExpired(new AbortController().signal);
  expect(await app.database.query('SELECT count(*)::integer AS left FROM autorouter_session')).toEqual([
    { left: 3 },
  ]);
});
