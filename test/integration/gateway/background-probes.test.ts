import { LaneHealth, LaneProber } from '#product/routing';
import { startTestApp, type TestApp } from '../../support/app';
import { ScriptedSupplier } from '../../support/scripted-supplier';
import { ModelShelf } from './model-shelf';

/*
 * "`lane-open` alarms for lanes that nobody calls": "lanes that rest are probed in the background at the breaker's pace".
 */
const REST_MS = 20_000;
/** The rest with its jitter, and 20 s in which nobody called. */
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

const broken = { status: 503, body: { error: { message: 'down' } } };
const answer = { body: { choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' } }] } };

/** Open lanes of other tests are probed as well. */
const probesOf = (model: string): string[] =>
  supplier.heard.filter(({ headers }) => headers.authorization === `Bearer ${model}`).map(({ body }) => body);

const states = (model: string): string[] =>
  app.application
    .get(LaneHealth, { strict: false })
    .states()
    .flatMap((lane) => (lane.supplier === model ? [lane.state] : []));

/** Rests are over at this time by the clock of the breakers. */
const probe = (afterMs: number): Promise<void> =>
  app.application.get(LaneProber, { strict: false }).probeDue(Math.round(performance.now()) + afterMs);

async function openLane(model: string): Promise<void> {
  const shelf = new ModelShelf(app);
  const breaker = { failures: 1, rest: REST_MS, longestRest: REST_MS };
  const credentials = [{ label: 'key', secret: model, kind: 'bearer' }] as const;
  await shelf.provider({ baseUrl: supplier.url, name: model, style: 'openai-style', breaker, credentials });
  await shelf.model(model, [{ provider: model }]);
  supplier.answer = broken;
  const { status } = await fetch(`${app.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${app.firstKeys?.demo}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }] }),
  });
  expect(status).toBe(503);
  expect(states(model)).toEqual(['open']);
  supplier.heard.splice(0);
}

test('a lane that nobody calls is closed by a probe once its supplier answers again', async () => {
  await openLane('recovers');
  supplier.answer = answer;
  await probe(0);
  expect(probesOf('recovers')).toHaveLength(0);
  await probe(WHEN_DUE_MS);
  expect(probesOf('recovers')).toHaveLength(1);
  expect(JSON.parse(probesOf('recovers')[0]!)).toMatchObject({ model: 'sim-large' });
  expect(states('recovers')).toEqual(['closed']);
});

test('a lane whose rest is just over is left to its callers', async () => {
  await openLane('called');
  supplier.answer = answer;
  await probe(1.3 * REST_MS);
  expect(probesOf('called')).toHaveLength(0);
});

test('a lane whose supplier still fails is probed once per rest', async () => {
  await openLane('stays-down');
  await probe(WHEN_DUE_MS);
  await probe(WHEN_DUE_MS);
  expect(probesOf('stays-down').length).toBeGreaterThanOrEqual(1);
  expect(states('stays-down')).toEqual(['open']);
  supplier.heard.splice(0);
  await probe(0);
  expect(probesOf('stays-down')).toHaveLength(0);
});

test('a refusal of the probe itself neither closes the lane nor is repeated at once', async () => {
  await openLane('refuses');
  supplier.answer = { status: 400, body: { error: { message: 'max_tokens is not known' } } };
  await probe(WHEN_DUE_MS);
  expect(probesOf('refuses')).toHaveLength(1);
  await probe(WHEN_DUE_MS);
  expect(probesOf('refuses')).toHaveLength(1);
  expect(states('refuses')).toEqual(['open']);
});
