import { startTestApp, type TestApp } from '../../../support/app';
import { startSimulator, type Simulator } from '../../../support/simulator';
import { addKey, addUser, signIn } from '../../../support/people';
import { TrialModule } from '../../web/trial.module';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** The clock of the node, not the one of the database, by which nodes agree when something ends. */
describe.each([
  ['an hour back', -HOUR_MS],
  ['an hour ahead', HOUR_MS],
])('a node whose clock is %s', (_name, shift) => {
  let app: TestApp;
  let supplier: Simulator;
  let owner: number;
  const rightNow = Date.now.bind(Date);

  beforeAll(async () => {
    supplier = await startSimulator();
    app = await startTestApp({ sandboxUrl: supplier.url, modules: [TrialModule] });
    owner = await addUser(app);
  });
  beforeEach(() => {
    jest.spyOn(Date, 'now').mockImplementation(() => rightNow() + shift);
  });
  afterEach(() => {
    jest.restoreAllMocks();
  });
  afterAll(async () => {
    await app.close();
    await supplier.stop();
  });

  const statusFor = async (endsInMs: number): Promise<number> => {
    const key = await addKey(app, owner, { expiresAt: new Date(rightNow() + endsInMs) });
    const answer = await fetch(`${app.url}/v1/key`, { headers: { authorization: `Bearer ${key.text}` } });
    await answer.text();
    return answer.status;
  };

  test('lets a key in until it ends, and not after', async () => {
    expect(await statusFor(HOUR_MS / 2)).toBe(200);
    expect(await statusFor(-HOUR_MS / 2)).toBe(401);
  });

  test('ends a session when it has been idle for a week', async () => {
    const cookie = await signIn(app, owner);
    const seen = async (agoMs: number): Promise<number> => {
      await app.database.query('UPDATE session SET last_seen_at = $1 WHERE user_id = $2', [
        new Date(rightNow() - agoMs),
        owner,
      ]);
      return (await fetch(`${app.url}/trial/me`, { headers: { cookie } })).status;
    };
    expect(await seen(7 * DAY_MS - HOUR_MS / 2)).toBe(200);
    expect(await seen(7 * DAY_MS + HOUR_MS / 2)).toBe(401);
  });

  test('asks a supplier again when that said it may, by the supplier’s clock', async () => {
    const back = new Date(rightNow() + 5_000).toUTCString();
    await supplier.addFault({
      times: 1,
      fault: { kind: 'status', status: 429, headers: { 'retry-after': back } },
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
