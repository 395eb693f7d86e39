import { Limits } from '#product/billing';
import { CatalogueService, PriceService } from '#product/catalogue';
import { Organisation } from '#product/identity';
import { parseUsdPerMillion, priceRates } from '#product/kernel';
import {
  app,
  sendAuto,
  closeAutoFixture,
  decisionOf,
  makeKey,
  openAutoFixture,
  organisationId,
  setAuto,
  simulator,
  resetAutoFixture,
} from './auto-fixture';

beforeAll(openAutoFixture);
afterEach(resetAutoFixture);
afterAll(closeAutoFixture);

const costOf = async (requestId: string | null): Promise<bigint> => {
  const [row] = await app.database.query<{ cost: string }>(
    'SELECT cost_nano::text AS cost FROM request_record WHERE request_id = $1',
    [requestId],
  );
  return BigInt(row?.cost ?? 0);
};

describe('A budget that would be exceeded', () => {
  const qualityFirst = { mode: 'on', dial: 0 } as const;
  const spend = async (text: string, times: number): Promise<bigint> => {
    let spent = 0n;
    for (let at = 0; at < times; at += 1)
      spent += await costOf((await sendAuto(text, { model: 'sim-large' })).requestId);
    return spent;
  };
  const waitForSpent = async (id: number, least: bigint): Promise<void> => {
    const limits = app.application.get(Limits);
    while (((await limits.state({ kind: 'key', id }))?.spent ?? 0n) < least) await new Promise(setImmediate);
  };

  test('favours cheaper models, and the decision reports the budget and its effect', async () => {
    await setAuto('organisation', organisationId, qualityFirst);
    const usualKey = await makeKey();
    const calmAnswer = await sendAuto(usualKey.text);
    expect(calmAnswer.json.model).toBe('sim-large');
    expect(await decisionOf(calmAnswer.requestId)).toMatchObject({ pacing: null, policy: { kappa: 0 } });

    const [one] = [await spend(usualKey.text, 1)];
    // A new rolling window has the same pace at any time of the day.
    const tightKey = await makeKey({ budget: { limit: 20n * one, period: 'rolling' } });
    await waitForSpent(tightKey.id, await spend(tightKey.text, 4));
    const pacedAnswer = await sendAuto(tightKey.text);
    expect(pacedAnswer.json.model).toBe('sim-small');
    const decision = await decisionOf(pacedAnswer.requestId);
    expect(decision).toMatchObject({ pacing: { budget: 'key', period: 'rolling' } });
    expect(decision?.pacing?.projected).toBeGreaterThan(2);
    expect(decision?.pacing?.raise).toBeGreaterThan(0.2);
    expect(decision?.policy?.kappa).toBe(decision?.pacing?.raise);
  });

  test('has no effect while it suffices, and a total budget never has', async () => {
    await setAuto('organisation', organisationId, qualityFirst);
    const wideKey = await makeKey({ budget: { limit: 10n ** 12n, period: 'rolling' } });
    await waitForSpent(wideKey.id, await spend(wideKey.text, 1));
    const calmAnswer = await sendAuto(wideKey.text);
    expect(calmAnswer.json.model).toBe('sim-large');
    expect(await decisionOf(calmAnswer.requestId)).toMatchObject({
      pacing: { budget: 'key', raise: 0 },
      policy: { kappa: 0 },
    });
    const totalKey = await makeKey({ budget: { limit: 10n ** 9n, period: 'total' } });
    await waitForSpent(totalKey.id, await spend(totalKey.text, 3));
    expect(await decisionOf((await sendAuto(totalKey.text)).requestId)).toMatchObject({ pacing: null });
  });
});

describe('Usual cost of the reference model', () => {
  interface TokenCounts {
    readonly input: number;
    readonly output: number;
  }
  const tokensOf = async (requestId: string | null): Promise<TokenCounts> => {
    const [row] = await app.database.query<TokenCounts>(
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
  const addOrganisation = async (name: string): Promise<{ text: string; id: number }> => {
    const row = app.database.source.getRepository(Organisation).create({ name, slug: name });
    await app.database.source.getRepository(Organisation).insert(row);
    return { text: (await makeKey({ organisationId: row.id })).text, id: row.id };
  };
  /** Sends requests until the usual cost differs from the cost of the request; returns the means it can be based on. */
  const requestUntilUsual = async (
    text: string,
    answerOf: (requestId: string | null) => Promise<TokenCounts>,
  ) => {
    const means: TokenCounts[] = [];
    let sum: TokenCounts = { input: 0, output: 0 };
    for (let at = 0; ; at += 1) {
      const content = 'Sort '.repeat(at % 2 === 0 ? 1 : 400);
      const { requestId } = await sendAuto(text, { messages: [{ role: 'user', content }] });
      const decision = await decisionOf(requestId);
      const ownCost = decision?.candidates?.find(({ model }) => model === 'sim-large')?.cost_est ?? NaN;
      if (decision?.ref_cost !== ownCost) return { decision, means: means.slice(19) };
      const { input, output } = await answerOf(requestId);
      sum = { input: sum.input + input, output: sum.output + output };
      means.push({ input: sum.input / (at + 1), output: sum.output / (at + 1) });
    }
  };
  const isOneOf = (cost: number | undefined, means: readonly TokenCounts[], rates: TokenCounts): boolean =>
    means.some(
      ({ input, output }) => Math.abs(input * rates.input + output * rates.output - (cost ?? NaN)) < 1,
    );

  test('is measured from the requests of the last week at current prices', async () => {
    await setPrice('1', '4');
    const { text } = await addOrganisation('mean');
    // Failed requests used no tokens and are not counted.
    await simulator.addFault({ match: {}, fault: { kind: 'status', status: 400 } });
    for (let at = 0; at < 3; at += 1) expect((await sendAuto(text)).status).toBe(400);
    await simulator.clearFaults();
    const { decision, means } = await requestUntilUsual(text, tokensOf);
    expect(isOneOf(decision?.ref_cost, means, { input: 1_000, output: 4_000 })).toBe(true);
    await setPrice('20', '60');
    const pricierDecision = await decisionOf((await sendAuto(text)).requestId);
    expect(isOneOf(pricierDecision?.ref_cost, means, { input: 20_000, output: 60_000 })).toBe(true);
  });

  test('uses the expected output of the reference model when another model answered', async () => {
    await setPrice('20', '60');
    const { text, id } = await addOrganisation('away');
    await setAuto('organisation', id, { mode: 'on', algorithm: 'cheapest' });
    const { decision, means } = await requestUntilUsual(text, async (requestId) => {
      const routedDecision = await decisionOf(requestId);
      expect([routedDecision?.chosen, routedDecision?.ref]).toEqual(['sim-small', 'sim-large']);
      return { ...(await tokensOf(requestId)), output: routedDecision?.ref_tokens_out ?? NaN };
    });
    expect(isOneOf(decision?.ref_cost, means, { input: 20_000, output: 60_000 })).toBe(true);
  });
});
