import { answers, type GateHouse, openGateHouse, untilSaid } from './gate-house';

let house: GateHouse;

beforeAll(async () => {
  house = await openGateHouse();
  const lanes = ['eu', 'us', 'ch'].map((region, priority) => ({
    provider: 'openai',
    region,
    upstreamModel: `in-${region}`,
    priority,
  }));
  await house.shelf.model('many', lanes);
  await house.shelf.model('one', [{ provider: 'openai', region: 'eu', upstreamModel: 'alone' }]);
});
afterAll(() => house.close());
beforeEach(() => {
  house.supplier.answer = { body: answers.chat };
  house.heard();
});

const chat = (text: string, rest: object = {}) => ({
  model: 'many',
  messages: [{ role: 'user', content: text }],
  ...rest,
});

const ask = (text: string, rest: object = {}): Promise<Response> =>
  house.post('/v1/chat/completions', chat(text, rest));

const asked = (): unknown[] => house.heard().map((body) => (JSON.parse(body) as { model: string }).model);

const verdictOf = async (answer: Response): Promise<unknown> => {
  const record = await house.recordOf(answer);
  return (record?.gates as { name: string; stage: string; verdict: string }[])
    .filter(({ stage }) => stage === 'candidates')
    .map(({ name, verdict }) => `${name} ${verdict}`);
};

test('a gate sees the lanes in the order in which they would be tried', async () => {
  await ask('[[lanes:show]]');
  const lanes = JSON.parse(String(house.said('lanes').at(-1)?.lanes)) as object[];
  expect(lanes).toEqual(
    ['eu', 'us', 'ch'].map((region) => ({
      id: expect.any(Number) as number,
      supplier: 'openai',
      model: `in-${region}`,
      region,
    })),
  );
});

test.each(['restrict', 'restrict-later'])(
  '%s leaves the lanes that are named, and no other',
  async (verb) => {
    const answer = await ask(`[[lanes:${verb}=us ch]]`);
    expect(answer.status).toBe(200);
    expect(asked()).toEqual(['in-us']);
    expect(await verdictOf(answer)).toEqual(['tried/lanes restrict']);
    expect(await house.recordOf(answer)).toMatchObject({ region: 'us', failover: false });
  },
);

test('a lane that fails is followed by those that are left', async () => {
  house.supplier.answer = { status: 500, body: { error: { message: 'no' } } };
  await ask(`[[lanes:restrict=us ch]]`);
  expect(asked()).toEqual(['in-us', 'in-ch']);
});

test('order puts those that are named first, and is no failover', async () => {
  const answer = await ask('[[lanes:order=ch]]');
  expect(asked()).toEqual(['in-ch']);
  expect(await house.recordOf(answer)).toMatchObject({ region: 'ch', failover: false });
  expect(await verdictOf(answer)).toEqual(['tried/lanes order']);
});

test('a gate that leaves nothing is named', async () => {
  const answer = await ask('[[lanes:restrict=jp]]');
  expect(answer.status).toBe(503);
  expect(await answer.json()).toMatchObject({
    error: { code: 'no_providers_available', details: { gate: 'tried/lanes' } },
  });
  expect(asked()).toEqual([]);
  expect(await verdictOf(answer)).toEqual(['tried/lanes restrict']);
});

test('a gate never widens the regions of a request', async () => {
  const answer = await ask('[[lanes:restrict=eu us ch]]', { region: 'us' });
  expect(answer.status).toBe(200);
  expect(asked()).toEqual(['in-us']);
  const elsewhere = await ask('[[lanes:order=eu]]', { region: 'us' });
  expect(elsewhere.status).toBe(200);
  expect(asked()).toEqual(['in-us']);
  expect((await ask('[[lanes:restrict=eu]]', { region: 'us' })).status).toBe(503);
});

test.each([
  ['throw', 'failed'],
  ['hang', 'late'],
  ['odd', 'failed'],
  ['rewrite', 'failed'],
  ['1', 'failed'],
])('a closed gate that does %s ends the request', async (fault, how) => {
  const answer = await ask(`[[lanes:${fault}]]`);
  expect(answer.status).toBe(503);
  expect(await answer.json()).toMatchObject({
    error: {
      code: 'service_unavailable',
      details: { gate: 'tried/lanes', stage: 'candidates', reason: how },
    },
  });
  expect(asked()).toEqual([]);
  expect(await verdictOf(answer)).toEqual([`tried/lanes ${how}`]);
});

test('a gate refuses at this stage as well', async () => {
  expect((await ask('[[lanes:reject]]')).status).toBe(403);
});

test('where a gate leaves the chosen model no lane, a stand-in answers, and its lanes were asked about', async () => {
  const usual = await ask('Hello [[lanes:show]]', { model: 'auto' });
  expect(usual.status).toBe(200);
  const [chosen] = asked();
  const before = house.said('lanes').length;
  const answer = await ask(`Hello [[lanes:only=${chosen === 'alone' ? 'in-us' : 'alone'}]]`, {
    model: 'auto',
  });
  expect(answer.status).toBe(200);
  expect(asked()).toEqual([chosen === 'alone' ? 'in-us' : 'alone']);
  expect(house.said('lanes').length).toBe(before + 2);
  const none = await ask('Hello [[lanes:only=none]]', { model: 'auto' });
  expect(none.status).toBe(503);
  expect(await none.json()).toMatchObject({ error: { details: { gate: 'tried/lanes' } } });
});

describe('a gate that sees what was settled', () => {
  const recordOf = async (answer: Response): Promise<Record<string, unknown>> => {
    const id = answer.headers.get('x-request-id')!;
    const of = () =>
      house.said('settled').find(({ record }) => String(record).includes(id))?.record as string | undefined;
    for (let count = 1; of() === undefined; count += 1) await untilSaid(house, 'settled', count);
    return JSON.parse(of()!) as Record<string, unknown>;
  };

  test('gets the published record of an answer', async () => {
    const answer = await ask('Hello', { metadata: { tags: ['a'] }, user: 'somebody' });
    const row = await house.recordOf(answer);
    expect(await recordOf(answer)).toMatchObject({
      request_id: answer.headers.get('x-request-id'),
      created_at: (row?.created_at as Date).toISOString(),
      key_id: Number(row?.key_id),
      operation: 'chat',
      model: 'many',
      served_model: 'in-eu',
      supplier: 'openai',
      region: 'eu',
      status: 200,
      error_code: null,
      input_tokens: 9,
      output_tokens: 2,
      cost_usd: '0.000013',
      end_user: 'somebody',
      tags: ['a'],
    });
  });

  test('gets a refusal, too', async () => {
    const answer = await ask('[[closed:reject]]');
    expect(await recordOf(answer)).toMatchObject({
      status: 403,
      error_code: 'request_rejected',
      cost_usd: '0',
    });
  });

  test.each(['hang', 'throw'])('delays nobody, even if it does %s', async (fault) => {
    const answers = [];
    for (let count = 0; count < 40; count += 1)
      answers.push(await ask('Hello', { metadata: { tags: [fault] } }));
    expect(answers.every(({ status }) => status === 200)).toBe(true);
    // The last of them is seen as well, once the first have had their time.
    expect(await recordOf(answers.at(-1)!)).toMatchObject({ tags: [fault] });
  });
});
