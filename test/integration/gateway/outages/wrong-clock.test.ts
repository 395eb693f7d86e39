import { startTestApp, type TestApp } from '../../../support/app';
import { startSimulator, type Simulator } from '../../../support/simulator';
import { addKey, addUser, signIn } from '../../../support/users';
import { TrialModule } from '../../web/trial.module';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Shifts the node's clock, not the database's, which decides when something expires on every node. */
describe.each([
  ['an hour back', -HOUR_MS],
  ['an hour ahead', HOUR_MS],
])('Node whose clock is %s', (_name, shift) => {
  let app: TestApp;
  let supplier: Simulator;
  let owner: number;
  const realNow = Date.now.bind(Date);

  beforeAll(async () => {
    supplier = await startSimulator();
    app = await startTestApp({ sandboxUrl: supplier.url, modules: [TrialModule] });
    owner = await addUser(app);
  });
  beforeEach(() => {
    jest.spyOn(Date, 'now').mockImplementation(() => realNow() + shift);
  });
  afterEach(() => {
    jest.restoreAllMocks();
  });
  afterAll(async () => {
    await app.close();
    await supplier.stop();
  });

  const statusFor = async (endsInMs: number): Promise<number> => {
    const key = await addKey(app, owner, { expiresAt: new Date(realNow() + endsInMs) });
    const answer = await fetch(`${app.url}/v1/key`, { headers: { authorization: `Bearer ${key.text}` } });
    await answer.text();
    return answer.status;
  };

  test("API key works until it expires by the database's clock", async () => {
    expect(await statusFor(HOUR_MS / 2)).toBe(200);
    expect(await statusFor(-HOUR_MS / 2)).toBe(401);
  });

  test('session ends after a week of inactivity', async () => {
    const cookie = await signIn(app, owner);
    const statusWhenLastSeen = async (agoMs: number): Promise<number> => {
      await app.database.query('UPDATE session SET last_seen_at = $1 WHERE user_id = $2', [
        new Date(realNow() - agoMs),
        owner,
      ]);
      return (await fetch(`${app.url}/trial/me`, { headers: { cookie } })).status;
    };
    expect(await statusWhenLastSeen(7 * DAY_MS - HOUR_MS / 2)).toBe(200);
    expect(await statusWhenLastSeen(7 * DAY_MS + HOUR_MS / 2)).toBe(401);
  });

  test("retry-after date of a supplier is interpreted by the supplier's clock", async () => {
    const retryDate = new Date(realNow() + 5_000).toUTCString();
    await supplier.addFault({
      times: 1,
      fault: { kind: 'status', status: 429, headers: { 'retry-after': retryDate } },
    });
    const answer = await fetch(`${app.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${app.firstKeys?.demo}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'sim-small', messages: [{ role: 'user', content: 'Hello' }] }),
    });
    expect([answer.status, await answer.json()]).toMatchObject([429, { error: { code: 'supplier_limit' } }]);
    const seconds = Number(answer.headers.get('retry-after'));
    expect(seconds).toBeGreaterThanOrEqual(3);
    expect(seconds).toBeLessThanOrEqual(6);
  });
});
