import { supplierReplies, type GateFixture, openGateFixture, waitForLogEntries } from './gate-fixture';

let fixture: GateFixture;

beforeAll(async () => {
  fixture = await openGateFixture();
  const lanes = ['eu', 'us', 'ch'].map((region, priority) => ({
    provider: 'openai',
    region,
    upstreamModel: `in-${region}`,
    priority,
  }));
  await fixture.catalogue.model('many', lanes);
  await fixture.catalogue.model('one', [{ provider: 'openai', region: 'eu', upstreamModel: 'alone' }]);
});
afterAll(() => fixture.close());
beforeEach(() => {
  fixture.supplier.answer = { body: supplierReplies.chat };
  fixture.takeSupplierBodies();
});

const chat = (text: string, rest: object = {}) => ({
  model: 'many',
  messages: [{ role: 'user', content: text }],
  ...rest,
});

const sendChat = (text: string, rest: object = {}): Promise<Response> =>
  fixture.post('/v1/chat/completions', chat(text, rest));

const calledModels = (): unknown[] =>
  fixture.takeSupplierBodies().map((body) => (JSON.parse(body) as { model: string }).model);

const verdictOf = async (answer: Response): Promise<unknown> => {
  const record = await fixture.recordOf(answer);
  return (record?.gates as { name: string; stage: string; verdict: string }[])
    .filter(({ stage }) => stage === 'candidates')
    .map(({ name, verdict }) => `${name} ${verdict}`);
};

test('a gate receives the lanes in the order in which they would be tried', async () => {
  await sendChat('[[lanes:show]]');
  const lanes = JSON.parse(String(fixture.logEntries('lanes').at(-1)?.lanes)) as object[];
  expect(lanes).toEqual(
    ['eu', 'us', 'ch'].map((region) => ({
      id: expect.any(Number) as number,
      supplier: 'openai',
      model: `in-${region}`,
      region,
    })),
  );
});

test.each(['restrict', 'restrict-later'])('%s keeps only the named lanes', async (verb) => {
  const answer = await sendChat(`[[lanes:${verb}=us ch]]`);
  expect(answer.status).toBe(200);
  expect(calledModels()).toEqual(['in-us']);
  expect(await verdictOf(answer)).toEqual(['tried/lanes restrict']);
  expect(await fixture.recordOf(answer)).toMatchObject({ region: 'us', failover: false });
});

test('a failed lane is followed by the remaining allowed lanes', async () => {
  fixture.supplier.answer = { status: 500, body: { error: { message: 'no' } } };
  await sendChat(`[[lanes:restrict=us ch]]`);
  expect(calledModels()).toEqual(['in-us', 'in-ch']);
});

test('order moves the named lanes to the front and does not count as failover', async () => {
  const answer = await sendChat('[[lanes:order=ch]]');
  expect(calledModels()).toEqual(['in-ch']);
  expect(await fixture.recordOf(answer)).toMatchObject({ region: 'ch', failover: false });
  expect(await verdictOf(answer)).toEqual(['tried/lanes order']);
});

test('a gate that allows no lane is named in the error', async () => {
  const answer = await sendChat('[[lanes:restrict=jp]]');
  expect(answer.status).toBe(503);
  expect(await answer.json()).toMatchObject({
    error: { code: 'no_providers_available', details: { gate: 'tried/lanes' } },
  });
  expect(calledModels()).toEqual([]);
  expect(await verdictOf(answer)).toEqual(['tried/lanes restrict']);
});

test('a gate cannot widen the regions of a request', async () => {
  const answer = await sendChat('[[lanes:restrict=eu us ch]]', { region: 'us' });
  expect(answer.status).toBe(200);
  expect(calledModels()).toEqual(['in-us']);
  const orderedAnswer = await sendChat('[[lanes:order=eu]]', { region: 'us' });
  expect(orderedAnswer.status).toBe(200);
  expect(calledModels()).toEqual(['in-us']);
  expect((await sendChat('[[lanes:restrict=eu]]', { region: 'us' })).status).toBe(503);
});

test.each([
  ['throw', 'failed'],
  ['hang', 'late'],
  ['odd', 'failed'],
  ['rewrite', 'failed'],
  ['1', 'failed'],
])('a closed gate with the fault %s ends the request', async (fault, how) => {
  const answer = await sendChat(`[[lanes:${fault}]]`);
  expect(answer.status).toBe(503);
  expect(await answer.json()).toMatchObject({
    error: {
      code: 'service_unavailable',
      details: { gate: 'tried/lanes', stage: 'candidates', reason: how },
    },
  });
  expect(calledModels()).toEqual([]);
  expect(await verdictOf(answer)).toEqual([`tried/lanes ${how}`]);
});

test('a gate can reject a request at the lane stage', async () => {
  expect((await sendChat('[[lanes:reject]]')).status).toBe(403);
});

test('another model answers when a gate leaves the chosen model no lane, and its lanes pass the gate too', async () => {
  const usualAnswer = await sendChat('Hello [[lanes:show]]', { model: 'auto' });
  expect(usualAnswer.status).toBe(200);
  const [chosen] = calledModels();
  const entriesBefore = fixture.logEntries('lanes').length;
  const answer = await sendChat(`Hello [[lanes:only=${chosen === 'alone' ? 'in-us' : 'alone'}]]`, {
    model: 'auto',
  });
  expect(answer.status).toBe(200);
  expect(calledModels()).toEqual([chosen === 'alone' ? 'in-us' : 'alone']);
  expect(fixture.logEntries('lanes').length).toBe(entriesBefore + 2);
  const refusal = await sendChat('Hello [[lanes:only=none]]', { model: 'auto' });
  expect(refusal.status).toBe(503);
  expect(await refusal.json()).toMatchObject({ error: { details: { gate: 'tried/lanes' } } });
});

describe('A gate at the settled stage', () => {
  const recordOf = async (answer: Response): Promise<Record<string, unknown>> => {
    const id = answer.headers.get('x-request-id')!;
    const findRecord = () =>
      fixture.logEntries('settled').find(({ record }) => String(record).includes(id))?.record as
        string | undefined;
    for (let count = 1; findRecord() === undefined; count += 1)
      await waitForLogEntries(fixture, 'settled', count);
    return JSON.parse(findRecord()!) as Record<string, unknown>;
  };

  test('receives the published record of an answered request', async () => {
    const answer = await sendChat('Hello', { metadata: { tags: ['a'] }, user: 'somebody' });
    const row = await fixture.recordOf(answer);
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

  test('receives the record of a rejected request', async () => {
    const answer = await sendChat('[[closed:reject]]');
    expect(await recordOf(answer)).toMatchObject({
      status: 403,
      error_code: 'request_rejected',
      cost_usd: '0',
    });
  });

  test.each(['hang', 'throw'])('does not delay responses when it has the fault %s', async (fault) => {
    const responses = [];
    for (let count = 0; count < 40; count += 1)
      responses.push(await sendChat('Hello', { metadata: { tags: [fault] } }));
    expect(responses.every(({ status }) => status === 200)).toBe(true);
    // The last record arrives too, after the first ones have timed out.
    expect(await recordOf(responses.at(-1)!)).toMatchObject({ tags: [fault] });
  });
});
