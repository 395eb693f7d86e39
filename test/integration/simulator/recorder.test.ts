import { createHash } from 'node:crypto';
import { startSimulator, type Simulator } from '../../support/simulator';
import { call, type CallOptions, openaiHeaders } from './client';

let simulator: Simulator;
beforeAll(async () => void (simulator = await startSimulator({ name: 'alpha', region: 'eu', ringSize: 5 })));
afterAll(() => simulator.stop());
beforeEach(() => simulator.clearRequests());

const body = { model: 'sim-small', messages: [{ role: 'user', content: 'hello' }] };

function chat(more: object = {}, options: CallOptions = {}): ReturnType<typeof call> {
  const url = `${simulator.url}/v1/chat/completions?trace=1`;
  const headers = { ...openaiHeaders, 'X-Session-Id': 'abc' };
  return call(url, { ...body, ...more }, { headers, ...options });
}

test('a request is written down as it came, with what became of it', async () => {
  const seen = await chat();
  await simulator.waitForClosed(1);
  const sent = JSON.stringify(body);
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
      rawBody: sent,
      bodyBytes: sent.length,
      bodySha256: createHash('sha256').update(sent).digest('hex'),
      model: 'sim-small',
      receivedAt: expect.stringMatching(/^\d{4}-.*Z$/) as string,
      status: 200,
      bytes: seen.bytes.length,
      events: 0,
      faults: [],
      closed: 'finished',
      durationMs: expect.any(Number) as number,
    },
  ]);
  expect(seen.headers).toMatchObject({ 'x-sim-name': 'alpha', 'x-sim-region': 'eu' });
});

test('a client that leaves in mid-stream shows with what it had by then', async () => {
  const controller = new AbortController();
  const messages = [{ role: 'user', content: 'hello [[tokens=400]] [[pace=20]]' }];
  await chat(
    { stream: true, messages },
    {
      signal: controller.signal,
      // Each comes at least so many milliseconds after the one before.
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

test('the ring forgets, the counter does not', async () => {
  const before = (await simulator.stats()).total;
  for (let index = 0; index < 12; index++) await chat();
  await simulator.waitForClosed(12);
  const ids = (await simulator.requests()).map(({ id }) => id);
  const { total, sinceClear, inFlight } = await simulator.stats();
  expect(ids).toEqual([8, 9, 10, 11, 12].map((index) => before + index));
  expect({ total, sinceClear, inFlight }).toEqual({ total: before + 12, sinceClear: 12, inFlight: 0 });
  await simulator.clearRequests();
  expect(await simulator.stats()).toMatchObject({ total: before + 12, sinceClear: 0 });
});

test('waiting ends with the event, or refuses at its deadline', async () => {
  const waiting = simulator.waitForRequests(2);
  await chat();
  await chat();
  await waiting;
  await expect(simulator.waitForRequests(3, 30)).rejects.toThrow(/408/);
});

test('statistics count by path and status, and what is open', async () => {
  const own = await startSimulator();
  const url = `${own.url}/v1/chat/completions`;
  await own.addFault({ match: { nth: 3 }, fault: { kind: 'hang' } });
  await call(url, body);
  await call(url, { ...body, model: 'other' });
  const controller = new AbortController();
  const pending = call(url, body, { signal: controller.signal });
  await own.waitForRequests(3);
  expect(await own.stats()).toMatchObject({
    inFlight: 1,
    openConnections: 1,
    connections: 3,
    byPathAndStatus: { '/v1/chat/completions 200': 1, '/v1/chat/completions 404': 1 },
  });
  controller.abort();
  await pending;
  await own.waitForClosed(3);
  expect((await own.stats()).inFlight).toBe(0);
  await own.stop();
});

test('lanes have their own ports, names and regions; a refused one takes no connection', async () => {
  const own = await startSimulator({ name: 'one', region: 'eu', lanes: [{ name: 'two', region: 'us' }] });
  await own.addFault({ match: { lane: 'two' }, fault: { kind: 'refuse' } });
  const ends = await Promise.all(own.lanes.map(({ url }) => call(`${url}/v1/chat/completions`, body)));
  expect(ends.map(({ end }) => end)).toEqual(['complete', 'ECONNREFUSED']);
  await own.clearFaults();
  await call(`${own.lanes[1]?.url ?? ''}/v1/chat/completions`, body);
  expect((await own.requests()).map(({ lane, region }) => [lane, region])).toEqual([
    ['one', 'eu'],
    ['two', 'us'],
  ]);
  expect((await own.stats()).lanes.map(({ connections }) => connections)).toEqual([1, 1]);
  await own.stop();
});

test('old bodies go when they take too much room; their sums stay', async () => {
  const own = await startSimulator();
  const url = `${own.url}/v1/chat/completions`;
  const large = JSON.stringify({ ...body, user: 'x'.repeat(1024 * 1024) });
  for (let index = 0; index < 65; index++) await call(url, large);
  await call(url, body);
  const records = await own.requests();
  const sum = createHash('sha256').update(large).digest('hex');
  expect(records.map(({ bodySha256 }) => bodySha256).slice(0, 65)).toEqual(Array(65).fill(sum));
  expect(records[0]).toMatchObject({ rawBody: null, bodyBytes: large.length });
  expect(records[64]?.rawBody).toHaveLength(1024 * 1024);
  expect(records[65]).toMatchObject({ body });
  await own.stop();
});

test('a body that is not text is summed, not shown', async () => {
  const bytes = Buffer.from([0, 255, 1]);
  const headers = { ...openaiHeaders, 'content-type': 'multipart/form-data; boundary=x' };
  await call(`${simulator.url}/v1/audio/transcriptions`, bytes, { headers });
  expect(await simulator.requests()).toMatchObject([
    { rawBody: null, body: null, bodyBytes: 3, bodySha256: createHash('sha256').update(bytes).digest('hex') },
  ]);
});
