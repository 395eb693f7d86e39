import { gunzipSync } from 'node:zlib';
import { startSimulator, type FaultRule, type Simulator } from '../../support/simulator';
import { call, type CallOptions, eventsOf, framesOf, jsonOf, type RawResponse } from './client';

let simulator: Simulator;
beforeAll(async () => void (simulator = await startSimulator()));
afterAll(() => simulator.stop());
afterEach(async () => {
  await simulator.clearFaults();
  await simulator.clearRequests();
});

const messages = [{ role: 'user', content: 'hello [[tokens=10]]' }];
const requests = {
  chat: ['/v1/chat/completions', { model: 'sim-small', messages }],
  messages: ['/v1/messages', { model: 'sim-small', messages, max_tokens: 100 }],
  responses: ['/v1/responses', { model: 'sim-small', input: 'hello [[tokens=10]]' }],
} as const;
type FaultStyle = keyof typeof requests;
const styles = Object.keys(requests) as FaultStyle[];

function sendComplete(style: FaultStyle = 'chat', signal?: AbortSignal): Promise<RawResponse> {
  const [path, body] = requests[style];
  return call(simulator.url + path, body, signal ? { signal } : {});
}

function sendStream(style: FaultStyle = 'chat', options: CallOptions = {}): Promise<RawResponse> {
  const [path, body] = requests[style];
  return call(simulator.url + path, { ...body, stream: true }, options);
}

function addFault(fault: FaultRule['fault'], more: Omit<FaultRule, 'fault'> = {}): Promise<number> {
  return simulator.addFault({ fault, ...more });
}

function isTerminated(style: FaultStyle, response: RawResponse): boolean {
  const last = framesOf(response).at(-1);
  const terminators = { chat: '[DONE]', messages: 'message_stop', responses: 'response.completed' };
  return style === 'chat' ? last?.data === terminators.chat : last?.event === terminators[style];
}

test('status returns a vendor-style error with its headers, or any body', async () => {
  await addFault({ kind: 'status', status: 429, headers: { 'retry-after': '7' } }, { times: 2 });
  await addFault({ kind: 'status', status: 503, body: '<h1>down</h1>' });
  const [chat, message] = [await sendComplete('chat'), await sendComplete('messages')];
  expect([chat.status, chat.headers['retry-after']]).toEqual([429, '7']);
  expect(jsonOf<object>(chat)).toMatchObject({ error: { type: 'rate_limit_exceeded' } });
  expect(jsonOf<object>(message)).toMatchObject({ type: 'error', error: { type: 'rate_limit_error' } });
  const third = await sendComplete();
  expect([third.status, third.bytes.toString()]).toEqual([503, '<h1>down</h1>']);
});

test('hang sends nothing until the client disconnects', async () => {
  await addFault({ kind: 'hang' });
  const controller = new AbortController();
  const pending = sendComplete('chat', controller.signal);
  await simulator.waitForRequests(1);
  controller.abort();
  const response = await pending;
  await simulator.waitForClosed(1, 'client-closed');
  expect([response.end, response.status]).toEqual(['ABORT_ERR', 0]);
  expect(await simulator.requests()).toMatchObject([
    { status: null, closed: 'client-closed', faults: ['hang'] },
  ]);
});

test('reset closes the connection before the headers or after some events', async () => {
  await addFault({ kind: 'reset' }, { times: 1 });
  expect(await sendComplete()).toMatchObject({ status: 0, end: 'ECONNRESET' });
  await addFault({ kind: 'reset', after: 3 });
  // A reset can overtake data sent before it, so only the sender knows how many events were sent.
  expect((await sendStream()).end).toBe('ECONNRESET');
  const records = await simulator.requests();
  expect(records.map(({ closed, events }) => [closed, events])).toEqual([
    ['fault', 0],
    ['fault', 3],
  ]);
});

test('refuse closes the port until the rule is removed, then opens the same port', async () => {
  await addFault({ kind: 'refuse' });
  expect(await sendComplete()).toMatchObject({ end: 'ECONNREFUSED' });
  await simulator.clearFaults();
  expect((await sendComplete()).status).toBe(200);
  expect(await simulator.requests()).toHaveLength(1);
});

test.each(styles)('cut ends a %s stream after the given number of events', async (style) => {
  await addFault({ kind: 'cut', after: 4 });
  const response = await sendStream(style);
  expect([response.status, response.end, framesOf(response).length]).toEqual([200, 'ECONNRESET', 4]);
  expect(await simulator.requests()).toMatchObject([{ closed: 'fault', events: 4 }]);
});

test('cut ends a non-streaming response halfway or at the given byte', async () => {
  const full = (await sendComplete()).bytes;
  await addFault({ kind: 'cut' }, { times: 1 });
  const half = await sendComplete();
  expect([half.end, half.bytes.length]).toEqual(['ECONNRESET', Math.floor(full.length / 2)]);
  await addFault({ kind: 'cut', after: 10 });
  expect((await sendComplete()).bytes).toEqual(full.subarray(0, 10));
});

test.each(styles)('clean-cut ends a %s stream as if it were complete', async (style) => {
  await addFault({ kind: 'clean-cut', after: 4 });
  const response = await sendStream(style);
  expect([response.end, framesOf(response).length, isTerminated(style, response)]).toEqual([
    'complete',
    4,
    false,
  ]);
  const incomplete = await sendComplete(style);
  expect(incomplete.end).toBe('complete');
  expect(() => jsonOf(incomplete)).toThrow(SyntaxError);
});

test.each(styles)('no-terminator removes only the last event of a %s stream', async (style) => {
  const plain = await sendStream(style);
  await addFault({ kind: 'no-terminator' });
  const response = await sendStream(style);
  expect([isTerminated(style, plain), isTerminated(style, response)]).toEqual([true, false]);
  expect(framesOf(response)).toEqual(framesOf(plain).slice(0, -1));
});

test('stall pauses a stream after some events', async () => {
  const plain = await sendStream();
  await addFault({ kind: 'stall', after: 2, ms: 300 });
  const response = await sendStream();
  expect(response.bytes).toEqual(plain.bytes);
  expect(response.totalMs).toBeGreaterThan(290);
});

test('stall without a duration lasts until the client disconnects, and sent events are counted', async () => {
  await addFault({ kind: 'stall', after: 2 });
  const controller = new AbortController();
  const response = await sendStream('chat', {
    signal: controller.signal,
    onText: (text) => {
      if (text.split('\n\n').length > 2) controller.abort();
    },
  });
  await simulator.waitForClosed(1, 'client-closed');
  const [record] = await simulator.requests();
  expect(record).toMatchObject({ closed: 'client-closed', events: 2, bytes: response.bytes.length });
});

test.each(styles)('malformed-event inserts one malformed event into a %s stream', async (style) => {
  const plain = await sendStream(style);
  await addFault({ kind: 'malformed-event', after: 3 });
  const frames = framesOf(await sendStream(style));
  expect(() => JSON.parse(frames[3]?.data ?? '{}') as unknown).toThrow(SyntaxError);
  expect(frames.toSpliced(3, 1)).toEqual(framesOf(plain));
});

test('error-event ends a stream with an error of its API format', async () => {
  await addFault({ kind: 'error-event', after: 3, status: 529, message: 'too busy' });
  const lastEvent = async (style: FaultStyle): Promise<unknown> => {
    const response = await sendStream(style);
    expect([response.end, framesOf(response).length]).toEqual(['complete', 4]);
    return eventsOf<object>(response).at(-1);
  };
  expect(await lastEvent('chat')).toMatchObject({ error: { message: 'too busy', type: 'server_error' } });
  expect(await lastEvent('messages')).toMatchObject({ type: 'error', error: { type: 'overloaded_error' } });
  expect(await lastEvent('responses')).toMatchObject({
    type: 'response.failed',
    response: { status: 'failed', error: { message: 'too busy' } },
  });
});

test('delay postpones the response headers', async () => {
  await addFault({ kind: 'delay', ms: 100, untilMs: 120 });
  expect((await sendComplete()).headMs).toBeGreaterThan(90);
});

test('slow-first-token sends headers and preamble immediately and delays the first token', async () => {
  await addFault({ kind: 'slow-first-token', ms: 300 });
  for (const style of styles) {
    const response = await sendStream(style);
    expect(response.totalMs).toBeGreaterThan(290);
    const preamble = response.chunks[0]?.toString() ?? '';
    expect(preamble).toMatch(/"role":"assistant"|message_start|response\.created/);
    expect(preamble).not.toMatch(/text_delta|output_text\.delta|"content":"[a-z]/);
  }
});

test('pace sends one event at a time', async () => {
  await addFault({ kind: 'pace', ms: 10 });
  const response = await sendStream();
  const events = framesOf(response).length;
  expect(response.chunks.length).toBeGreaterThan(3);
  expect(response.totalMs).toBeGreaterThan(10 * (events - 1) * 0.8);
});

test('split sends the same bytes one at a time, also within characters', async () => {
  const body = { model: 'sim-small', messages: [{ role: 'user', content: '[[echo=é日😀]]' }], stream: true };
  const plain = await call(`${simulator.url}/v1/chat/completions`, body);
  await addFault({ kind: 'split', bytes: 1 });
  const response = await call(`${simulator.url}/v1/chat/completions`, body);
  expect(response.bytes).toEqual(plain.bytes);
  expect(response.chunks.length).toBeGreaterThan(plain.chunks.length + 20);
});

test('crlf and comments change the framing of a stream but not its data', async () => {
  const plain = await sendStream('messages');
  await addFault({ kind: 'crlf' });
  await addFault({ kind: 'comments' });
  const response = await sendStream('messages');
  const text = response.bytes.toString();
  expect(text).not.toMatch(/[^\r]\n/);
  expect(text).toMatch(/^: keep-alive\r\n\r\n:\r\nid: 0\r\nretry: 3000\r\n/);
  expect(framesOf(response)).toEqual(framesOf(plain));
});

describe('wrong-usage', () => {
  const usageOf = async (style: FaultStyle): Promise<Record<string, unknown> | undefined> =>
    jsonOf<{ usage?: Record<string, unknown> }>(await sendComplete(style)).usage;

  test.each([
    ['negative', 'output_tokens', -10],
    ['nan', 'output_tokens', 'NaN'],
    ['absurd', 'output_tokens', 9e17],
    ['fractional', 'output_tokens', 10.5],
  ] as const)('reports %s token counts', async (variant, field, value) => {
    await addFault({ kind: 'wrong-usage', variant });
    expect((await usageOf('messages'))?.[field]).toBe(value);
    expect((await usageOf('responses'))?.[field]).toBe(value);
    expect((await usageOf('chat'))?.['completion_tokens']).toBe(value);
  });

  test('reports no usage when absent', async () => {
    await addFault({ kind: 'wrong-usage', variant: 'absent' });
    for (const style of styles) {
      expect(await usageOf(style)).toBeUndefined();
      expect((await sendStream(style)).bytes.toString()).not.toContain('"output_tokens"');
    }
  });

  test('reports the correct usage twice when double', async () => {
    await addFault({ kind: 'wrong-usage', variant: 'double' });
    const [path, body] = requests.chat;
    const streamingBody = { ...body, stream: true, stream_options: { include_usage: true } };
    const chunks = eventsOf<{ usage: object | null }>(await call(simulator.url + path, streamingBody));
    const reports = chunks.filter(({ usage }) => usage !== null);
    expect(reports).toHaveLength(2);
    expect(reports[0]).toEqual(reports[1]);
    const names = framesOf(await sendStream('messages')).map(({ event }) => event);
    expect(names.filter((name) => name === 'message_delta')).toHaveLength(2);
  });
});

test('non-json, empty-body and redirect return unusable responses', async () => {
  await addFault({ kind: 'non-json' }, { times: 1 });
  await addFault({ kind: 'empty-body' }, { match: { nth: 2 } });
  await addFault({ kind: 'redirect', location: 'http://127.0.0.1:1/x' }, { match: { nth: 3 } });
  const [page, empty, moved] = [await sendComplete(), await sendComplete(), await sendComplete()];
  expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html']);
  expect([empty.status, empty.bytes.length, empty.end]).toEqual([200, 0, 'complete']);
  expect([moved.status, moved.headers.location]).toEqual([302, 'http://127.0.0.1:1/x']);
});

test('huge-body and gzip-bomb return oversized bodies', async () => {
  const megabytes = 3 * 1024 * 1024;
  await addFault({ kind: 'huge-body', bytes: megabytes }, { times: 2 });
  const [text, event] = [await sendComplete(), await sendStream()];
  expect(text.bytes.length).toBeGreaterThan(megabytes);
  expect(jsonOf<object>(text)).toHaveProperty('choices');
  expect(eventsOf(event)).toHaveLength(1);
  await addFault({ kind: 'gzip-bomb', bytes: megabytes });
  const bomb = await sendComplete();
  expect(bomb.headers['content-encoding']).toBe('gzip');
  expect(bomb.bytes.length).toBeLessThan(megabytes / 100);
  expect(gunzipSync(bomb.bytes).length).toBe(megabytes);
});

describe('Fault matching', () => {
  const statuses = async (count: number, style: FaultStyle = 'chat'): Promise<number[]> => {
    const statusList: number[] = [];
    for (let index = 0; index < count; index++) statusList.push((await sendComplete(style)).status);
    return statusList;
  };
  const fault = { kind: 'status', status: 500 } as const;

  test('matches by path, model and key', async () => {
    await addFault(fault, { match: { path: '/v1/messages' } });
    expect([...(await statuses(1)), ...(await statuses(1, 'messages'))]).toEqual([200, 500]);
    await simulator.clearFaults();
    await addFault(fault, { match: { model: 'sim-other' } });
    await addFault(fault, { match: { key: 'sim-stranger' } });
    expect(await statuses(1)).toEqual([200]);
    await addFault(fault, { match: { model: 'sim-small', key: 'sim-key' } });
    expect(await statuses(1)).toEqual([500]);
  });

  test('matches the nth request, every nth request and a maximum number of times', async () => {
    await addFault(fault, { match: { nth: 2 } });
    expect(await statuses(3)).toEqual([200, 500, 200]);
    await simulator.clearFaults();
    await addFault(fault, { match: { every: 2 }, times: 2 });
    expect(await statuses(6)).toEqual([200, 500, 200, 500, 200, 200]);
  });

  test('matches by probability, repeatable with the same seed', async () => {
    const runSeeded = async (): Promise<number[]> => {
      const seededSimulator = await startSimulator({ seed: 7 });
      await seededSimulator.addFault({ match: { probability: 0.5 }, fault });
      const [path, body] = requests.chat;
      const statusList: number[] = [];
      for (let index = 0; index < 12; index++)
        statusList.push((await call(seededSimulator.url + path, body)).status);
      await seededSimulator.stop();
      return statusList;
    };
    const first = await runSeeded();
    expect(await runSeeded()).toEqual(first);
    expect(new Set(first)).toEqual(new Set([200, 500]));
  });

  test('a single rule can be removed', async () => {
    const id = await addFault(fault);
    await fetch(`${simulator.controlUrl}/faults/${id}`, { method: 'DELETE' });
    expect(await statuses(1)).toEqual([200]);
  });
});

test.each([
  [{ fault: { kind: 'explode' } }, /unknown fault kind/],
  [{ fault: { kind: 'status' } }, /fault\.status: required/],
  [{ fault: { kind: 'split', bytes: 0 } }, /at least 1/],
  [{ fault: { kind: 'hang', ms: 3 } }, /unknown field ms/],
  [{ match: { probability: 2 }, fault: { kind: 'hang' } }, /match\.probability/],
  [{}, /expected/],
])('an invalid rule is refused: %j', async (rule, message) => {
  await expect(simulator.addFault(rule as FaultRule)).rejects.toThrow(message);
});
