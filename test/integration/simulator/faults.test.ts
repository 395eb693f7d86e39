import { gunzipSync } from 'node:zlib';
import { startSimulator, type FaultRule, type Simulator } from '../../support/simulator';
import { call, type CallOptions, eventsOf, framesOf, jsonOf, type Seen } from './client';

let simulator: Simulator;
beforeAll(async () => void (simulator = await startSimulator()));
afterAll(() => simulator.stop());
afterEach(async () => {
  await simulator.clearFaults();
  await simulator.clearRequests();
});

const messages = [{ role: 'user', content: 'hello [[tokens=10]]' }];
const bodies = {
  chat: ['/v1/chat/completions', { model: 'sim-small', messages }],
  messages: ['/v1/messages', { model: 'sim-small', messages, max_tokens: 100 }],
  responses: ['/v1/responses', { model: 'sim-small', input: 'hello [[tokens=10]]' }],
} as const;
type Style = keyof typeof bodies;
const styles = Object.keys(bodies) as Style[];

function whole(style: Style = 'chat', signal?: AbortSignal): Promise<Seen> {
  const [path, body] = bodies[style];
  return call(simulator.url + path, body, signal ? { signal } : {});
}

function stream(style: Style = 'chat', options: CallOptions = {}): Promise<Seen> {
  const [path, body] = bodies[style];
  return call(simulator.url + path, { ...body, stream: true }, options);
}

function add(fault: FaultRule['fault'], more: Omit<FaultRule, 'fault'> = {}): Promise<number> {
  return simulator.addFault({ fault, ...more });
}

function isTerminated(style: Style, seen: Seen): boolean {
  const last = framesOf(seen).at(-1);
  const terminators = { chat: '[DONE]', messages: 'message_stop', responses: 'response.completed' };
  return style === 'chat' ? last?.data === terminators.chat : last?.event === terminators[style];
}

test('status: a vendor-like error with its headers, or any body', async () => {
  await add({ kind: 'status', status: 429, headers: { 'retry-after': '7' } }, { times: 2 });
  await add({ kind: 'status', status: 503, body: '<h1>down</h1>' });
  const [chat, message] = [await whole('chat'), await whole('messages')];
  expect([chat.status, chat.headers['retry-after']]).toEqual([429, '7']);
  expect(jsonOf<object>(chat)).toMatchObject({ error: { type: 'rate_limit_exceeded' } });
  expect(jsonOf<object>(message)).toMatchObject({ type: 'error', error: { type: 'rate_limit_error' } });
  const third = await whole();
  expect([third.status, third.bytes.toString()]).toEqual([503, '<h1>down</h1>']);
});

test('hang: nothing until the client gives up', async () => {
  await add({ kind: 'hang' });
  const controller = new AbortController();
  const pending = whole('chat', controller.signal);
  await simulator.waitForRequests(1);
  controller.abort();
  const seen = await pending;
  await simulator.waitForClosed(1, 'client-closed');
  expect([seen.end, seen.status]).toEqual(['ABORT_ERR', 0]);
  expect(await simulator.requests()).toMatchObject([
    { status: null, closed: 'client-closed', faults: ['hang'] },
  ]);
});

test('reset: before the head, or after some events', async () => {
  await add({ kind: 'reset' }, { times: 1 });
  expect(await whole()).toMatchObject({ status: 0, end: 'ECONNRESET' });
  await add({ kind: 'reset', after: 3 });
  // A reset may overtake what was sent before it, so only the sender knows how much that was.
  expect((await stream()).end).toBe('ECONNRESET');
  const records = await simulator.requests();
  expect(records.map(({ closed, events }) => [closed, events])).toEqual([
    ['fault', 0],
    ['fault', 3],
  ]);
});

test('refuse: the port is closed until the rule goes, then it is the same port', async () => {
  await add({ kind: 'refuse' });
  expect(await whole()).toMatchObject({ end: 'ECONNREFUSED' });
  await simulator.clearFaults();
  expect((await whole()).status).toBe(200);
  expect(await simulator.requests()).toHaveLength(1);
});

test.each(styles)('cut: %s streams end unfinished after so many events', async (style) => {
  await add({ kind: 'cut', after: 4 });
  const seen = await stream(style);
  expect([seen.status, seen.end, framesOf(seen).length]).toEqual([200, 'ECONNRESET', 4]);
  expect(await simulator.requests()).toMatchObject([{ closed: 'fault', events: 4 }]);
});

test('cut: a whole answer stops half-way, or at a byte', async () => {
  const full = (await whole()).bytes;
  await add({ kind: 'cut' }, { times: 1 });
  const half = await whole();
  expect([half.end, half.bytes.length]).toEqual(['ECONNRESET', Math.floor(full.length / 2)]);
  await add({ kind: 'cut', after: 10 });
  expect((await whole()).bytes).toEqual(full.subarray(0, 10));
});

test.each(styles)('clean-cut: %s streams end as if they were done', async (style) => {
  await add({ kind: 'clean-cut', after: 4 });
  const seen = await stream(style);
  expect([seen.end, framesOf(seen).length, isTerminated(style, seen)]).toEqual(['complete', 4, false]);
  const broken = await whole(style);
  expect(broken.end).toBe('complete');
  expect(() => jsonOf(broken)).toThrow(SyntaxError);
});

test.each(styles)('no-terminator: %s streams miss their last event only', async (style) => {
  const plain = await stream(style);
  await add({ kind: 'no-terminator' });
  const seen = await stream(style);
  expect([isTerminated(style, plain), isTerminated(style, seen)]).toEqual([true, false]);
  expect(framesOf(seen)).toEqual(framesOf(plain).slice(0, -1));
});

test('stall: silence after some events, then the rest', async () => {
  const plain = await stream();
  await add({ kind: 'stall', after: 2, ms: 300 });
  const seen = await stream();
  expect(seen.bytes).toEqual(plain.bytes);
  expect(seen.totalMs).toBeGreaterThan(290);
});

test('stall without an end lasts until the client leaves; what was delivered is counted', async () => {
  await add({ kind: 'stall', after: 2 });
  const controller = new AbortController();
  const seen = await stream('chat', {
    signal: controller.signal,
    onText: (text) => {
      if (text.split('\n\n').length > 2) controller.abort();
    },
  });
  await simulator.waitForClosed(1, 'client-closed');
  const [record] = await simulator.requests();
  expect(record).toMatchObject({ closed: 'client-closed', events: 2, bytes: seen.bytes.length });
});

test.each(styles)('malformed-event: %s streams carry one broken event among good ones', async (style) => {
  const plain = await stream(style);
  await add({ kind: 'malformed-event', after: 3 });
  const frames = framesOf(await stream(style));
  expect(() => JSON.parse(frames[3]?.data ?? '{}') as unknown).toThrow(SyntaxError);
  expect(frames.toSpliced(3, 1)).toEqual(framesOf(plain));
});

test('error-event: each style fails in its own words in mid-stream', async () => {
  await add({ kind: 'error-event', after: 3, status: 529, message: 'too busy' });
  const last = async (style: Style): Promise<unknown> => {
    const seen = await stream(style);
    expect([seen.end, framesOf(seen).length]).toEqual(['complete', 4]);
    return eventsOf<object>(seen).at(-1);
  };
  expect(await last('chat')).toMatchObject({ error: { message: 'too busy', type: 'server_error' } });
  expect(await last('messages')).toMatchObject({ type: 'error', error: { type: 'overloaded_error' } });
  expect(await last('responses')).toMatchObject({
    type: 'response.failed',
    response: { status: 'failed', error: { message: 'too busy' } },
  });
});

test('delay: the head itself is late', async () => {
  await add({ kind: 'delay', ms: 100, untilMs: 120 });
  expect((await whole()).headMs).toBeGreaterThan(90);
});

test('slow-first-token: head and preamble at once, the first token late', async () => {
  await add({ kind: 'slow-first-token', ms: 300 });
  for (const style of styles) {
    const seen = await stream(style);
    expect(seen.totalMs).toBeGreaterThan(290);
    const preamble = seen.chunks[0]?.toString() ?? '';
    expect(preamble).toMatch(/"role":"assistant"|message_start|response\.created/);
    expect(preamble).not.toMatch(/text_delta|output_text\.delta|"content":"[a-z]/);
  }
});

test('pace: one event at a time', async () => {
  await add({ kind: 'pace', ms: 10 });
  const seen = await stream();
  const events = framesOf(seen).length;
  expect(seen.chunks.length).toBeGreaterThan(3);
  expect(seen.totalMs).toBeGreaterThan(10 * (events - 1) * 0.8);
});

test('split: the same bytes, one at a time, through the middle of characters', async () => {
  const body = { model: 'sim-small', messages: [{ role: 'user', content: '[[echo=é日😀]]' }], stream: true };
  const plain = await call(`${simulator.url}/v1/chat/completions`, body);
  await add({ kind: 'split', bytes: 1 });
  const seen = await call(`${simulator.url}/v1/chat/completions`, body);
  expect(seen.bytes).toEqual(plain.bytes);
  expect(seen.chunks.length).toBeGreaterThan(plain.chunks.length + 20);
});

test('crlf and comments change the dress of a stream, not its data', async () => {
  const plain = await stream('messages');
  await add({ kind: 'crlf' });
  await add({ kind: 'comments' });
  const seen = await stream('messages');
  const text = seen.bytes.toString();
  expect(text).not.toMatch(/[^\r]\n/);
  expect(text).toMatch(/^: keep-alive\r\n\r\n:\r\nid: 0\r\nretry: 3000\r\n/);
  expect(framesOf(seen)).toEqual(framesOf(plain));
});

describe('wrong-usage', () => {
  const usageOf = async (style: Style): Promise<Record<string, unknown> | undefined> =>
    jsonOf<{ usage?: Record<string, unknown> }>(await whole(style)).usage;

  test.each([
    ['negative', 'output_tokens', -10],
    ['nan', 'output_tokens', 'NaN'],
    ['absurd', 'output_tokens', 9e17],
    ['fractional', 'output_tokens', 10.5],
  ] as const)('%s', async (variant, field, value) => {
    await add({ kind: 'wrong-usage', variant });
    expect((await usageOf('messages'))?.[field]).toBe(value);
    expect((await usageOf('responses'))?.[field]).toBe(value);
    expect((await usageOf('chat'))?.['completion_tokens']).toBe(value);
  });

  test('absent', async () => {
    await add({ kind: 'wrong-usage', variant: 'absent' });
    for (const style of styles) {
      expect(await usageOf(style)).toBeUndefined();
      expect((await stream(style)).bytes.toString()).not.toContain('"output_tokens"');
    }
  });

  test('double reports the right usage twice', async () => {
    await add({ kind: 'wrong-usage', variant: 'double' });
    const [path, body] = bodies.chat;
    const asked = { ...body, stream: true, stream_options: { include_usage: true } };
    const chunks = eventsOf<{ usage: object | null }>(await call(simulator.url + path, asked));
    const reports = chunks.filter(({ usage }) => usage !== null);
    expect(reports).toHaveLength(2);
    expect(reports[0]).toEqual(reports[1]);
    const names = framesOf(await stream('messages')).map(({ event }) => event);
    expect(names.filter((name) => name === 'message_delta')).toHaveLength(2);
  });
});

test('bodies no client wants: not JSON, empty, elsewhere', async () => {
  await add({ kind: 'non-json' }, { times: 1 });
  await add({ kind: 'empty-body' }, { match: { nth: 2 } });
  await add({ kind: 'redirect', location: 'http://127.0.0.1:1/x' }, { match: { nth: 3 } });
  const [page, empty, moved] = [await whole(), await whole(), await whole()];
  expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html']);
  expect([empty.status, empty.bytes.length, empty.end]).toEqual([200, 0, 'complete']);
  expect([moved.status, moved.headers.location]).toEqual([302, 'http://127.0.0.1:1/x']);
});

test('bodies no client can hold: huge ones, packed ones', async () => {
  const megabytes = 3 * 1024 * 1024;
  await add({ kind: 'huge-body', bytes: megabytes }, { times: 2 });
  const [text, event] = [await whole(), await stream()];
  expect(text.bytes.length).toBeGreaterThan(megabytes);
  expect(jsonOf<object>(text)).toHaveProperty('choices');
  expect(eventsOf(event)).toHaveLength(1);
  await add({ kind: 'gzip-bomb', bytes: megabytes });
  const bomb = await whole();
  expect(bomb.headers['content-encoding']).toBe('gzip');
  expect(bomb.bytes.length).toBeLessThan(megabytes / 100);
  expect(gunzipSync(bomb.bytes).length).toBe(megabytes);
});

describe('matching', () => {
  const statuses = async (count: number, style: Style = 'chat'): Promise<number[]> => {
    const found: number[] = [];
    for (let index = 0; index < count; index++) found.push((await whole(style)).status);
    return found;
  };
  const fault = { kind: 'status', status: 500 } as const;

  test('by path, model and key', async () => {
    await add(fault, { match: { path: '/v1/messages' } });
    expect([...(await statuses(1)), ...(await statuses(1, 'messages'))]).toEqual([200, 500]);
    await simulator.clearFaults();
    await add(fault, { match: { model: 'sim-other' } });
    await add(fault, { match: { key: 'sim-stranger' } });
    expect(await statuses(1)).toEqual([200]);
    await add(fault, { match: { model: 'sim-small', key: 'sim-key' } });
    expect(await statuses(1)).toEqual([500]);
  });

  test('by count: the nth, every so many, only so often', async () => {
    await add(fault, { match: { nth: 2 } });
    expect(await statuses(3)).toEqual([200, 500, 200]);
    await simulator.clearFaults();
    await add(fault, { match: { every: 2 }, times: 2 });
    expect(await statuses(6)).toEqual([200, 500, 200, 500, 200, 200]);
  });

  test('by chance, the same chance each time it is started', async () => {
    const run = async (): Promise<number[]> => {
      const own = await startSimulator({ seed: 7 });
      await own.addFault({ match: { probability: 0.5 }, fault });
      const [path, body] = bodies.chat;
      const found: number[] = [];
      for (let index = 0; index < 12; index++) found.push((await call(own.url + path, body)).status);
      await own.stop();
      return found;
    };
    const first = await run();
    expect(await run()).toEqual(first);
    expect(new Set(first)).toEqual(new Set([200, 500]));
  });

  test('a single rule can be taken away', async () => {
    const id = await add(fault);
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
])('a rule that makes no sense is refused: %j', async (rule, message) => {
  await expect(simulator.addFault(rule as FaultRule)).rejects.toThrow(message);
});
