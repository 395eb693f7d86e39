import { createHash } from 'node:crypto';
import { startSimulator, type Simulator } from '../../support/simulator';
import { call, type CallOptions, openaiHeaders } from './client';

let simulator: Simulator;
beforeAll(async () => void (simulator = await startSimulator({ name: 'alpha', region: 'eu', ringSize: 5 })));
afterAll(() => simulator.stop());
beforeEach(() => simulator.clearRequests());

const body = { model: 'sim-small', messages: [{ role: 'user', content: 'hello' }] };

function sendChat(more: object = {}, options: CallOptions = {}): ReturnType<typeof call> {
  const url = `${simulator.url}/v1/chat/completions?trace=1`;
  const headers = { ...openaiHeaders, 'X-Session-Id': 'abc' };
  return call(url, { ...body, ...more }, { headers, ...options });
}

test('a request is recorded as received, with its outcome', async () => {
  const response = await sendChat();
  await simulator.waitForClosed(1);
  const sentBody = JSON.stringify(body);
  expect(await simulator.requests()).toEqual([
    {
      id: expect.any(Number) as number,
      lane: 'alpha',
      region: 'eu',
      rule: null,
      words: null,
      method: 'POST',
      path: '/v1/chat/completions',
      query: 'trace=1',
      headers: expect.objectContaining({ authorization: 'Bearer sim-key', 'x-session-id': 'abc' }) as object,
      body,
      rawBody: sentBody,
      bodyBytes: sentBody.length,
      bodySha256: createHash('sha256').update(sentBody).digest('hex'),
      model: 'sim-small',
      receivedAt: expect.stringMatching(/^\d{4}-.*Z$/) as string,
      status: 200,
      bytes: response.bytes.length,
      events: 0,
      faults: [],
      closed: 'finished',
      durationMs: expect.any(Number) as number,
    },
  ]);
  expect(response.headers).toMatchObject({ 'x-sim-name': 'alpha', 'x-sim-region': 'eu' });
});

test('a client that disconnects during a stream is recorded with the events sent so far', async () => {
  const controller = new AbortController();
  const messages = [{ role: 'user', content: 'hello [[tokens=400]] [[pace=20]]' }];
  await sendChat(
    { stream: true, messages },
    {
      signal: controller.signal,
      // Paced, so that events arrive one by one at least 20 ms apart.
      onText: (text) => {
        if (text.split('\n\n').length > 5) controller.abort();
      },
    },
  );
  await simulator.waitForClosed(1, 'client-closed');
  const [record] = await simulator.requests();
  expect(record).toMatchObject({ closed: 'client-closed', status: 200 });
  expect(record?.events).toBeGreaterThan(0);
  expect(record?.events).toBeLessThan(100);
  expect(record?.durationMs).toBeGreaterThan(50);
});

test('old records are dropped, but the total keeps counting', async () => {
  const totalBefore = (await simulator.stats()).total;
  for (let index = 0; index < 12; index++) await sendChat();
  await simulator.waitForClosed(12);
  const ids = (await simulator.requests()).map(({ id }) => id);
  const { total, sinceClear, inFlight } = await simulator.stats();
  expect(ids).toEqual([8, 9, 10, 11, 12].map((index) => totalBefore + index));
  expect({ total, sinceClear, inFlight }).toEqual({ total: totalBefore + 12, sinceClear: 12, inFlight: 0 });
  await simulator.clearRequests();
  expect(await simulator.stats()).toMatchObject({ total: totalBefore + 12, sinceClear: 0 });
});

test('waiting for requests ends when they arrive, or fails at its deadline', async () => {
  const waiting = simulator.waitForRequests(2);
  await sendChat();
  await sendChat();
  await waiting;
  await expect(simulator.waitForRequests(3, 30)).rejects.toThrow(/408/);
});

test('statistics count requests by path and status, and open requests', async () => {
  const ownSimulator = await startSimulator();
  const url = `${ownSimulator.url}/v1/chat/completions`;
  await ownSimulator.addFault({ match: { nth: 3 }, fault: { kind: 'hang' } });
  await call(url, body);
  await call(url, { ...body, model: 'other' });
  const controller = new AbortController();
  const pending = call(url, body, { signal: controller.signal });
  await ownSimulator.waitForRequests(3);
  expect(await ownSimulator.stats()).toMatchObject({
    inFlight: 1,
    openConnections: 1,
    connections: 3,
    byPathAndStatus: { '/v1/chat/completions 200': 1, '/v1/chat/completions 404': 1 },
  });
  controller.abort();
  await pending;
  await ownSimulator.waitForClosed(3);
  expect((await ownSimulator.stats()).inFlight).toBe(0);
  await ownSimulator.stop();
});

test('lanes have their own ports, names and regions, and a refused lane accepts no connection', async () => {
  const ownSimulator = await startSimulator({
    name: 'one',
    region: 'eu',
    lanes: [{ name: 'two', region: 'us' }],
  });
  await ownSimulator.addFault({ match: { lane: 'two' }, fault: { kind: 'refuse' } });
  const endStates = await Promise.all(
    ownSimulator.lanes.map(({ url }) => call(`${url}/v1/chat/completions`, body)),
  );
  expect(endStates.map(({ end }) => end)).toEqual(['complete', 'ECONNREFUSED']);
  await ownSimulator.clearFaults();
  await call(`${ownSimulator.lanes[1]?.url ?? ''}/v1/chat/completions`, body);
  expect((await ownSimulator.requests()).map(({ lane, region }) => [lane, region])).toEqual([
    ['one', 'eu'],
    ['two', 'us'],
  ]);
  expect((await ownSimulator.stats()).lanes.map(({ connections }) => connections)).toEqual([1, 1]);
  await ownSimulator.stop();
});

test('bodies are dropped above the memory limit, but their digests stay', async () => {
  const ownSimulator = await startSimulator();
  const url = `${ownSimulator.url}/v1/chat/completions`;
  const large = JSON.stringify({ ...body, user: 'x'.repeat(1024 * 1024) });
  for (let index = 0; index < 65; index++) await call(url, large);
  await call(url, body);
  const records = await ownSimulator.requests();
  const digest = createHash('sha256').update(large).digest('hex');
  expect(records.map(({ bodySha256 }) => bodySha256).slice(0, 65)).toEqual(Array(65).fill(digest));
  expect(records[0]).toMatchObject({ rawBody: null, bodyBytes: large.length });
  expect(records[64]?.rawBody).toHaveLength(1024 * 1024);
  expect(records[65]).toMatchObject({ body });
  await ownSimulator.stop();
});

test('a binary body is recorded only by its digest', async () => {
  const bytes = Buffer.from([0, 255, 1]);
  const headers = { ...openaiHeaders, 'content-type': 'multipart/form-data; boundary=x' };
  await call(`${simulator.url}/v1/audio/transcriptions`, bytes, { headers });
  expect(await simulator.requests()).toMatchObject([
    { rawBody: null, body: null, bodyBytes: 3, bodySha256: createHash('sha256').update(bytes).digest('hex') },
  ]);
});
