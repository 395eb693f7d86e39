import { LaneHealth, LaneProber } from '#product/routing';
import { startTestApp, type TestApp } from '../../support/app';
import { ScriptedSupplier } from '../../support/scripted-supplier';
import { TestCatalogue } from './test-catalogue';

/*
 * "`lane-open` alarms for lanes that nobody calls": "lanes that rest are probed in the background at the breaker's pace".
 */
const REST_MS = 20_000;
/** The rest with its jitter, plus 20 s without a caller. */
const WHEN_DUE_MS = 60_000;
let app: TestApp;
let supplier: ScriptedSupplier;

beforeAll(async () => {
  supplier = await ScriptedSupplier.start();
  app = await startTestApp({ environment: { SUPPLIER_ALLOW: '127.0.0.1' } });
});
afterAll(async () => {
  await app.close();
  await supplier.stop();
});

const unavailableResponse = { status: 503, body: { error: { message: 'down' } } };
const answer = { body: { choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' } }] } };

/** Filtered by model, because open lanes of other tests are probed too. */
const probesOf = (model: string): string[] =>
  supplier.requests
    .filter(({ headers }) => headers.authorization === `Bearer ${model}`)
    .map(({ body }) => body);

const statesOf = (model: string): string[] =>
  app.application
    .get(LaneHealth, { strict: false })
    .states()
    .flatMap((lane) => (lane.supplier === model ? [lane.state] : []));

/** Probes the lanes whose rest ends within this time on the breakers' clock. */
const probe = (afterMs: number): Promise<void> =>
  app.application.get(LaneProber, { strict: false }).probeDue(Math.round(performance.now()) + afterMs);

async function openLane(model: string): Promise<void> {
  const catalogue = new TestCatalogue(app);
  const breaker = { failures: 1, rest: REST_MS, longestRest: REST_MS };
  const credentials = [{ label: 'key', secret: model, kind: 'bearer' }] as const;
  await catalogue.provider({
    baseUrl: supplier.url,
    name: model,
    style: 'openai-style',
    breaker,
    credentials,
  });
  await catalogue.model(model, [{ provider: model }]);
  supplier.answer = unavailableResponse;
  const { status } = await fetch(`${app.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${app.firstKeys?.demo}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }] }),
  });
  expect(status).toBe(503);
  expect(statesOf(model)).toEqual(['open']);
  supplier.requests.splice(0);
}

test('lane without callers is closed by a probe once its supplier recovers', async () => {
  await openLane('recovers');
  supplier.answer = answer;
  await probe(0);
  expect(probesOf('recovers')).toHaveLength(0);
  await probe(WHEN_DUE_MS);
  expect(probesOf('recovers')).toHaveLength(1);
  expect(JSON.parse(probesOf('recovers')[0]!)).toMatchObject({ model: 'sim-large' });
  expect(statesOf('recovers')).toEqual(['closed']);
});

test('lane whose rest has just ended is left to its callers', async () => {
  await openLane('called');
  supplier.answer = answer;
  await probe(1.3 * REST_MS);
  expect(probesOf('called')).toHaveLength(0);
});

test('lane whose supplier still fails is probed once per rest', async () => {
  await openLane('stays-down');
  await probe(WHEN_DUE_MS);
  await probe(WHEN_DUE_MS);
  expect(probesOf('stays-down').length).toBeGreaterThanOrEqual(1);
  expect(statesOf('stays-down')).toEqual(['open']);
  supplier.requests.splice(0);
  await probe(0);
  expect(probesOf('stays-down')).toHaveLength(0);
});

test('rejected probe neither closes the lane nor repeats immediately', async () => {
  await openLane('refuses');
  supplier.answer = { status: 400, body: { error: { message: 'max_tokens is not known' } } };
  await probe(WHEN_DUE_MS);
  expect(probesOf('refuses')).toHaveLength(1);
  await probe(WHEN_DUE_MS);
  expect(probesOf('refuses')).toHaveLength(1);
  expect(statesOf('refuses')).toEqual(['open']);
});
