import { EvaluationQueue } from '#inside/quality/loop/evaluation-queue';
import { startTestApp, type TestApp } from '../../support/app';
import { startSimulator, type Simulator } from '../../support/simulator';
import { until } from '../../support/until';
import { sendJson } from '../web/from-page';
import { addHouse, askModel, evaluated, type House, sampleOf, setQuality, signedIn } from './house';

let app: TestApp;
let simulator: Simulator;

const everything = { availability: 'everyone', sampling_percent: 100, sample_named: true } as const;
const rows = <Row>(sql: string, ...values: unknown[]) => app.database.query<Row>(sql, values);
const idOf = (answer: Response): string => answer.headers.get('x-request-id') ?? '';
const question = (content: string, extra: object = {}) => ({
  model: 'sim-small',
  messages: [{ role: 'user', content }],
  ...extra,
});
const exclude = (keyId: number) =>
  rows(
    `INSERT INTO engine_setting (engine, key_id, settings) VALUES ('qualitative', $1, '{"excluded": true}')`,
    keyId,
  );
const answersKept = (requestId: string) =>
  rows('SELECT model FROM quality_score WHERE request_id = $1 AND content IS NOT NULL', requestId);
const callsFor = (requestId: string) =>
  rows<{ model: string }>('SELECT model FROM evaluation_call WHERE request_id = $1', requestId);

beforeAll(async () => {
  simulator = await startSimulator();
  app = await startTestApp({ sandboxUrl: simulator.url });
});
afterEach(() => simulator.clearFaults());
afterAll(async () => {
  await app.close();
  await simulator.stop();
});

async function newHouse(slug: string, settings: object = {}): Promise<House> {
  const house = await addHouse(app, slug);
  await setQuality(app, house.organisationId, { ...everything, ...settings });
  return house;
}

/** A request whose texts are kept, and that was evaluated. */
async function keptSample({ key }: House): Promise<string> {
  const requestId = idOf(await askModel(app, key, question('Solve the equation of the lighthouse.')));
  expect(await evaluated(app, requestId)).toMatchObject({ state: 'learned', content: expect.any(Buffer) });
  return requestId;
}

/** As it was before the step that begins from this state. */
async function putBack(requestId: string, state: string): Promise<void> {
  await rows('UPDATE quality_sample SET state = $2 WHERE request_id = $1', requestId, state);
  if (state !== 'judged')
    await rows(
      'UPDATE quality_score SET verdict = NULL, score_total = NULL WHERE request_id = $1',
      requestId,
    );
  await rows('DELETE FROM autorouter_example WHERE example_id = $1', requestId);
}

async function runStep(requestId: string, state: string): Promise<void> {
  const queue = app.application.get(EvaluationQueue, { strict: false });
  if (state === 'waiting') await queue.replay(requestId, '.again');
  else if (state === 'replayed') await queue.judge(requestId, 'sim-small', 'sim-large', '.again');
  else await queue.learn(requestId, '.again');
}

const asOwner = async ({ organisationId }: House, form: object) =>
  sendJson(
    { url: app.url, cookie: await signedIn(app, organisationId, 'org_owner') },
    '/dashboard/qualitative/settings',
    form,
  );

describe.each(['waiting', 'replayed', 'judged'])('a sample that is %s', (state) => {
  test.each([
    ['its organisation switched off', ({ organisationId }: House) => switchOff(organisationId)],
    ['its key is excluded', ({ keyId }: House) => exclude(keyId)],
  ])('goes no further once %s', async (reason, withdraw) => {
    const house = await newHouse(`${state} ${reason}`.replaceAll(' ', '-'), { content_retention_days: 2 });
    const requestId = await keptSample(house);
    await putBack(requestId, state);
    const before = await callsFor(requestId);
    await withdraw(house);
    await runStep(requestId, state);
    expect(await evaluated(app, requestId)).toMatchObject({
      state: 'closed',
      closed_by: 'switched_off',
      content: null,
    });
    expect(await callsFor(requestId)).toEqual(before);
    expect(await answersKept(requestId)).toEqual([]);
    expect(await rows('SELECT FROM autorouter_example WHERE example_id = $1', requestId)).toEqual([]);
  });

  test('ends with the change itself', async () => {
    const house = await newHouse(`${state}-ends`, { content_retention_days: 2 });
    const requestId = await keptSample(house);
    await putBack(requestId, state);
    expect((await asOwner(house, { availability: 'off' })).status).toBe(200);
    expect(await sampleOf(app, requestId)).toMatchObject({ state: 'closed', closed_by: 'switched_off' });
    expect(await answersKept(requestId)).toEqual([]);
  });
});

const switchOff = (organisationId: number) => setQuality(app, organisationId, { availability: 'off' });

test('no further model is asked once consent is withdrawn, and an answer on its way is not kept', async () => {
  const house = await newHouse('under-way');
  await simulator.addFault({ match: { model: 'sim-8k' }, fault: { kind: 'delay', ms: 4_000 } });
  await simulator.addFault({ match: { model: 'sim-large' }, fault: { kind: 'delay', ms: 4_000 } });
  await simulator.addFault({ match: { model: 'sim-reason' }, fault: { kind: 'delay', ms: 4_000 } });
  const requestId = idOf(await askModel(app, house.key, question('Solve the equation.')));
  await until(async () => (await callsFor(requestId)).length > 0);
  expect((await asOwner(house, { key_id: house.keyId, excluded: 'on' })).status).toBe(200);
  await until(async () => {
    const [open] = await rows<{ open: number }>(
      'SELECT count(*)::integer AS open FROM evaluation_call WHERE request_id = $1 AND cost_nano IS NULL',
      requestId,
    );
    return open?.open === 0;
  });
  // A later sample is done: the step before it has ended.
  const later = await newHouse('under-way-later');
  await simulator.clearFaults();
  await evaluated(app, idOf(await askModel(app, later.key, question('Solve it.'))));
  expect(await callsFor(requestId)).toHaveLength(1);
  expect(await sampleOf(app, requestId)).toMatchObject({ state: 'closed', closed_by: 'switched_off' });
  expect(await answersKept(requestId)).toEqual([]);
});

test('a key that is excluded while its answer is on the way is not sampled', async () => {
  const house = await newHouse('long-answer');
  await simulator.addFault({ match: { model: 'sim-small' }, fault: { kind: 'pace', ms: 150 } });
  const answer = await askModel(app, house.key, question('Solve it. [[tokens=30]]', { stream: true }));
  // Its head is here, and its end is not.
  await exclude(house.keyId);
  await answer.text();
  await simulator.clearFaults();
  const later = await newHouse('long-answer-later');
  await evaluated(app, idOf(await askModel(app, later.key, question('Solve it.'))));
  expect(await sampleOf(app, idOf(answer))).toBeUndefined();
});

describe('texts that are kept', () => {
  test('leave at once when they are no longer kept', async () => {
    const house = await newHouse('keeps-nothing', { content_retention_days: 2 });
    const requestId = await keptSample(house);
    expect((await asOwner(house, { content_retention_days: 0 })).status).toBe(200);
    expect(await sampleOf(app, requestId)).toMatchObject({ state: 'learned', content: null });
    expect(await answersKept(requestId)).toEqual([]);
  });

  test('leave when the organisation switches off, and when their key is excluded', async () => {
    for (const [slug, form] of [
      ['keeps-off', () => ({ availability: 'off' })],
      ['keeps-excluded', ({ keyId }: House) => ({ key_id: keyId, excluded: 'on' })],
    ] as const) {
      const house = await newHouse(slug, { content_retention_days: 2 });
      const requestId = await keptSample(house);
      expect((await asOwner(house, form(house))).status).toBe(200);
      expect(await sampleOf(app, requestId)).toMatchObject({ state: 'learned', content: null });
      expect(await answersKept(requestId)).toEqual([]);
    }
  });

  test('stay for the shorter time, and never for a longer one than was said when they came', async () => {
    const house = await newHouse('keeps-shorter', { content_retention_days: 20 });
    const requestId = await keptSample(house);
    const daysLeft = async () =>
      (
        await rows<{ days: number }>(
          `SELECT round(extract(epoch FROM content_until - created_at) / 86400)::integer AS days
             FROM quality_sample WHERE request_id = $1`,
          requestId,
        )
      )[0]?.days;
    expect(await daysLeft()).toBe(20);
    await asOwner(house, { content_retention_days: 3 });
    expect(await daysLeft()).toBe(3);
    await asOwner(house, { content_retention_days: 30 });
    expect(await daysLeft()).toBe(3);
    expect(await sampleOf(app, requestId)).toMatchObject({ content: expect.any(Buffer) });
  });
});
