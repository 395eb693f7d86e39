import { Logger } from '@nestjs/common';
import { Idempotency } from '../../../src/web/idempotency/idempotency';
import type { IdempotencyStore } from '../../../src/web/idempotency/idempotency-store';
import { Leases } from '../../../src/web/idempotency/leases';
import { operationOf } from '../../../src/web/idempotency/operation';
import { contentOf, runOrReplay } from '../../../src/gateway/intake/replay-reply';
import type { GatewayCall } from '../../../src/gateway/intake/describe';
import { parseForm } from '../../../src/gateway/media/multipart-form';
import type { Inbound } from '../../../src/gateway/intake/inbound';
import type { Reply } from '../../../src/gateway/reply/reply';
import { RequestWork } from '../../../src/gateway/intake/work';
import { type ErrorCode, fault } from '../../../src/kernel';
import type { Settings } from '../../../src/platform';

const settings = { keyPepper: 'pepper', idempotentAnswerLimitBytes: 1_000 } as Settings;
const chat = { stream: false, operation: { name: 'chat' } } as GatewayCall;
const inbound = (headers: Record<string, string>): Inbound =>
  ({
    headers,
    caller: { keyId: 1 },
    bytes: Buffer.from('{}'),
    form: null,
    requestId: 'r',
  }) as unknown as Inbound;

/** A table of one row that notes what is done to it. */
function storeThat(notes: string[], claim = (): boolean => true): IdempotencyStore {
  const note = (what: string) => (): Promise<boolean> => {
    notes.push(what);
    return Promise.resolve(true);
  };
  const store = {
    claim: () => Promise.resolve(claim()),
    find: () => Promise.resolve(null),
    keep: note('keep'),
    bar: note('bar'),
    release: note('release'),
  };
  return store as unknown as IdempotencyStore;
}

const reply = {
  status: 200,
  contentType: 'text/plain',
  body: Buffer.from('x'),
  facts: { costNano: 1n },
} as Reply;

test.each([
  ['without the header', {}, chat],
  ['with a stream', { 'idempotency-key': 'bad key' }, { ...chat, stream: true }],
])('%s the very promise of the call comes back, and no table is asked', (_name, headers, call) => {
  const running = Promise.resolve(null);
  const idempotency = new Idempotency(undefined as unknown as IdempotencyStore, settings);
  expect(runOrReplay(idempotency, inbound(headers), { call: call, work: new RequestWork() }, () => running)).toBe(
    running,
  );
});

// Everything that goes wrong here is meant to.
beforeAll(() => {
  Logger.overrideLogger(false);
});

const keyed = inbound({ 'idempotency-key': 'k' });

test.each<[ErrorCode, string[]]>([
  ['upstream_timeout', ['release']],
  ['budget_exceeded', ['release']],
  ['supplier_settlement_failed', []],
])('%s: a call that failed is free again, unless it may yet be charged', async (code, expected) => {
  const notes: string[] = [];
  const call = runOrReplay(
    new Idempotency(storeThat(notes), settings),
    keyed,
    { call: chat, work: new RequestWork() },
    () => Promise.reject<Reply>(fault(code)),
  );
  await expect(call).rejects.toMatchObject({ code });
  expect(notes).toEqual(expected);
});

test('a call that is kept goes on without its caller, any other one ends with him', async () => {
  const works = { kept: new RequestWork(), streamed: new RequestWork() };
  const idempotency = new Idempotency(storeThat([]), settings);
  const leaving = (work: RequestWork) => (): Promise<Reply> => {
    work.leave();
    return Promise.resolve(reply);
  };
  expect(await runOrReplay(idempotency, keyed, { call: chat, work: works.kept }, leaving(works.kept))).toBe(
    reply,
  );
  expect(works.kept).toMatchObject({ callerLeft: true, stopped: null });
  const stream = { ...chat, stream: true };
  await runOrReplay(idempotency, keyed, { call: stream, work: works.streamed }, leaving(works.streamed));
  expect(works.streamed.stopped).toMatchObject({ status: 499, outcome: 'caller_left' });
});

test('an answer is kept before it is handed out', async () => {
  const notes: string[] = [];
  const idempotency = new Idempotency(storeThat(notes), settings);
  expect(
    await runOrReplay(idempotency, keyed, { call: chat, work: new RequestWork() }, () => Promise.resolve(reply)),
  ).toBe(reply);
  expect(notes).toEqual(['keep']);
  await runOrReplay(idempotency, keyed, { call: chat, work: new RequestWork() }, () =>
    Promise.resolve({ ...reply, body: Buffer.alloc(1_001) }),
  );
  expect(notes).toEqual(['keep', 'bar']);
});

test('whoever always comes between two others is told to wait', async () => {
  let tries = 0;
  const busy = storeThat([], () => {
    tries += 1;
    return false;
  });
  const call = runOrReplay(new Idempotency(busy, settings), keyed, { call: chat, work: new RequestWork() }, () =>
    Promise.resolve(reply),
  );
  await expect(call).rejects.toMatchObject({ code: 'operation_in_progress' });
  expect(tries).toBe(3);
});

test('a form is the same whatever boundary it has, and another one when any part differs', async () => {
  const hashOf = async (boundary: string, text: string, file: string): Promise<string> => {
    const part = (head: string, body: string): string =>
      `--${boundary}\r\nContent-Disposition: form-data; ${head}\r\n\r\n${body}\r\n`;
    const sent = part('name="model"', text) + part('name="file"; filename="a.wav"', file) + `--${boundary}--`;
    const bytes = Buffer.from(sent);
    const form = await parseForm(bytes, `multipart/form-data; boundary=${boundary}`);
    const { requestId, headers } = inbound({ 'idempotency-key': 'k' });
    const asked = { requestId, keyId: 1, headers, content: () => contentOf({ bytes, form }) };
    return operationOf(asked, 'transcription', 'pepper')?.requestHash.toString('hex') ?? '';
  };
  const first = await hashOf('one', 'a', 'xyz');
  expect(first).toBe(await hashOf('two', 'a', 'xyz'));
  const others = [await hashOf('one', 'b', 'xyz'), await hashOf('one', 'a', 'xyw')];
  expect(new Set([first, ...others]).size).toBe(3);
});

describe('a database that does not answer', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());
  const silence = new Promise<never>(() => undefined);

  test('holds up a call for five seconds, then it is refused without having run', async () => {
    const silent = { claim: () => silence } as unknown as IdempotencyStore;
    const execute = jest.fn(() => Promise.resolve(reply));
    const call = runOrReplay(
      new Idempotency(silent, settings),
      keyed,
      { call: chat, work: new RequestWork() },
      execute,
    );
    const refused = expect(call).rejects.toMatchObject({ code: 'service_unavailable' });
    await jest.advanceTimersByTimeAsync(5_001);
    await refused;
    expect(execute).not.toHaveBeenCalled();
  });

  test('holds up an answer that was paid for no longer', async () => {
    const silent = { ...storeThat([]), keep: () => silence } as unknown as IdempotencyStore;
    const call = runOrReplay(new Idempotency(silent, settings), keyed, { call: chat, work: new RequestWork() }, () =>
      Promise.resolve(reply),
    );
    await jest.advanceTimersByTimeAsync(5_001);
    expect(await call).toBe(reply);
    expect(jest.getTimerCount()).toBe(0);
  });
});

describe('leases', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  test('are renewed together while their calls run, and not beyond', () => {
    const renewed: (readonly string[])[] = [];
    const leases = new Leases((claims) => Promise.resolve(void renewed.push(claims)), 10_000);
    leases.start('one');
    jest.advanceTimersByTime(9_999);
    leases.start('two');
    expect(renewed).toEqual([]);
    jest.advanceTimersByTime(1);
    leases.end('one');
    jest.advanceTimersByTime(10_000);
    expect(renewed).toEqual([['one', 'two'], ['two']]);
    leases.end('two');
    expect(jest.getTimerCount()).toBe(0);
    leases.start('three');
    jest.advanceTimersByTime(10_000);
    expect(renewed.at(-1)).toEqual(['three']);
    leases.end('three');
  });
});
