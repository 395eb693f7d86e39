import { Limits } from '../../../src/billing';
import { Organisation } from '../../../src/identity';
import {
  app,
  ask,
  closeHouse,
  decisionOf,
  makeKey,
  openHouse,
  organisationId,
  set,
  tidyHouse,
} from './auto-house';

beforeAll(openHouse);
afterEach(tidyHouse);
afterAll(closeHouse);

const costOf = async (requestId: string | null): Promise<bigint> => {
  const [row] = await app.database.query<{ cost: string }>(
    'SELECT cost_nano::text AS cost FROM request_record WHERE request_id = $1',
    [requestId],
  );
  return BigInt(row?.cost ?? 0);
};

describe('a budget that would be exceeded', () => {
  const quality = { mode: 'on', dial: 0 } as const;
  const spend = async (text: string, times: number): Promise<bigint> => {
    let spent = 0n;
    for (let at = 0; at < times; at += 1)
      spent += await costOf((await ask(text, { model: 'sim-large' })).requestId);
    return spent;
  };
  const settled = async (id: number, least: bigint): Promise<void> => {
    const limits = app.application.get(Limits);
    while (((await limits.state({ kind: 'key', id }))?.spent ?? 0n) < least) await new Promise(setImmediate);
  };

  test('presses towards cheaper models, and the explanation says whose it is and how much', async () => {
    await set('organisation', organisationId, quality);
    const usual = await makeKey();
    const calm = await ask(usual.text);
    expect(calm.json.model).toBe('sim-large');
    expect(await decisionOf(calm.requestId)).toMatchObject({ pacing: null, policy: { kappa: 0 } });

    const [one] = [await spend(usual.text, 1)];
    // A rolling window that has just begun has the same pace at any time of the day.
    const tight = await makeKey({ budget: { limit: 20n * one, period: 'rolling' } });
    await settled(tight.id, await spend(tight.text, 4));
    const pressed = await ask(tight.text);
    expect(pressed.json.model).toBe('sim-small');
    const decision = await decisionOf(pressed.requestId);
    expect(decision).toMatchObject({ pacing: { budget: 'key', period: 'rolling' } });
    expect(decision?.pacing?.projected).toBeGreaterThan(2);
    expect(decision?.pacing?.raise).toBeGreaterThan(0.2);
    expect(decision?.policy?.kappa).toBe(decision?.pacing?.raise);
  });

  test('presses nobody while it lasts, and a total never does', async () => {
    await set('organisation', organisationId, quality);
    const wide = await makeKey({ budget: { limit: 10n ** 12n, period: 'rolling' } });
    await settled(wide.id, await spend(wide.text, 1));
    const calm = await ask(wide.text);
    expect(calm.json.model).toBe('sim-large');
    expect(await decisionOf(calm.requestId)).toMatchObject({
      pacing: { budget: 'key', raise: 0 },
      policy: { kappa: 0 },
    });
    const total = await makeKey({ budget: { limit: 10n ** 9n, period: 'total' } });
    await settled(total.id, await spend(total.text, 3));
    expect(await decisionOf((await ask(total.text)).requestId)).toMatchObject({ pacing: null });
  });
});

test('what the reference model costs is the mean of the week, by what decisions expected of it', async () => {
  const organisations = app.database.source.getRepository(Organisation);
  const row = organisations.create({ name: 'mean', slug: 'mean' });
  await organisations.insert(row);
  const { text } = await makeKey({ organisationId: row.id });
  const means: number[] = [];
  let sum = 0;
  for (let at = 0; ; at += 1) {
    const content = 'Sort '.repeat(at % 2 === 0 ? 1 : 400);
    const { requestId } = await ask(text, { messages: [{ role: 'user', content }] });
    const decision = await decisionOf(requestId);
    const own = decision?.candidates?.find(({ model }) => model === 'sim-large')?.cost_est ?? NaN;
    if (decision?.ref_cost !== own) {
      expect(means.slice(19)).toContain(decision?.ref_cost);
      return;
    }
    sum += own;
    means.push(Math.round(sum / (at + 1)));
  }
});
