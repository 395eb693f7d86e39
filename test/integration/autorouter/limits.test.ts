import { Limits } from '#product/billing';
import { CatalogueService, PriceService } from '#product/catalogue';
import { Organisation } from '#product/identity';
import { parseUsdPerMillion, priceRates } from '#product/kernel';
import {
  app,
  ask,
  closeHouse,
  decisionOf,
  makeKey,
  openHouse,
  organisationId,
  set,
  simulator,
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

describe('the usual cost of the reference model is measured', () => {
  interface Tokens {
    readonly input: number;
    readonly output: number;
  }
  const tokensOf = async (requestId: string | null): Promise<Tokens> => {
    const [row] = await app.database.query<Tokens>(
      `SELECT input_tokens AS input, output_tokens + reasoning_tokens AS output
         FROM request_record WHERE request_id = $1`,
      [requestId],
    );
    return row ?? { input: NaN, output: NaN };
  };
  const setPrice = async (input: string, output: string): Promise<void> => {
    await app.database.transaction((tx) =>
      new PriceService().addPrice(tx, {
        model: 'sim-large',
        source: 'test',
        rates: priceRates({ input: parseUsdPerMillion(input), output: parseUsdPerMillion(output) }),
      }),
    );
    await app.application.get(CatalogueService).reload();
  };
  const house = async (name: string): Promise<{ text: string; id: number }> => {
    const row = app.database.source.getRepository(Organisation).create({ name, slug: name });
    await app.database.source.getRepository(Organisation).insert(row);
    return { text: (await makeKey({ organisationId: row.id })).text, id: row.id };
  };
  /** Asks until the usual cost is another one than that of the request, and tells what the mean could have been. */
  const untilUsual = async (text: string, answerOf: (requestId: string | null) => Promise<Tokens>) => {
    const means: Tokens[] = [];
    let sum: Tokens = { input: 0, output: 0 };
    for (let at = 0; ; at += 1) {
      const content = 'Sort '.repeat(at % 2 === 0 ? 1 : 400);
      const { requestId } = await ask(text, { messages: [{ role: 'user', content }] });
      const decision = await decisionOf(requestId);
      const own = decision?.candidates?.find(({ model }) => model === 'sim-large')?.cost_est ?? NaN;
      if (decision?.ref_cost !== own) return { decision, means: means.slice(19) };
      const { input, output } = await answerOf(requestId);
      sum = { input: sum.input + input, output: sum.output + output };
      means.push({ input: sum.input / (at + 1), output: sum.output / (at + 1) });
    }
  };
  const isOneOf = (cost: number | undefined, means: readonly Tokens[], rates: Tokens): boolean =>
    means.some(
      ({ input, output }) => Math.abs(input * rates.input + output * rates.output - (cost ?? NaN)) < 1,
    );

  test('is what the requests of the week really took, at the prices of now', async () => {
    await setPrice('1', '4');
    const { text } = await house('mean');
    // Requests that nobody answered took nothing, and do not count.
    await simulator.addFault({ match: {}, fault: { kind: 'status', status: 400 } });
    for (let at = 0; at < 3; at += 1) expect((await ask(text)).status).toBe(400);
    await simulator.clearFaults();
    const { decision, means } = await untilUsual(text, tokensOf);
    expect(isOneOf(decision?.ref_cost, means, { input: 1_000, output: 4_000 })).toBe(true);
    await setPrice('20', '60');
    const dearer = await decisionOf((await ask(text)).requestId);
    expect(isOneOf(dearer?.ref_cost, means, { input: 20_000, output: 60_000 })).toBe(true);
  });

  test('takes the output that was expected of it where another model answered', async () => {
    await setPrice('20', '60');
    const { text, id } = await house('away');
    await set('organisation', id, { mode: 'on', algorithm: 'cheapest' });
    const { decision, means } = await untilUsual(text, async (requestId) => {
      const made = await decisionOf(requestId);
      expect([made?.chosen, made?.ref]).toEqual(['sim-small', 'sim-large']);
      return { ...(await tokensOf(requestId)), output: made?.ref_tokens_out ?? NaN };
    });
    expect(isOneOf(decision?.ref_cost, means, { input: 20_000, output: 60_000 })).toBe(true);
  });
});
