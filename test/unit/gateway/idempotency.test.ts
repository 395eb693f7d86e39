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

/** Returns a store of one row that logs the operations on it. */
function storeLogging(notes: string[], claim = (): boolean => true): IdempotencyStore {
  const logAs = (what: string) => (): Promise<boolean> => {
    notes.push(what);
    return Promise.resolve(true);
  };
  const store = {
    claim: () => Promise.resolve(claim()),
    find: () => Promise.resolve(null),
    store: logAs('store'),
    markUnstored: logAs('markUnstored'),
    release: logAs('release'),
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
])('%s the promise of the call is returned without a database lookup', (_name, headers, call) => {
  const running = Promise.resolve(null);
  const idempotency = new Idempotency(undefined as unknown as IdempotencyStore, settings);
  expect(
    runOrReplay(idempotency, inbound(headers), { call: call, work: new RequestWork() }, () => running),
  ).toBe(running);
});

// All failures below are intended.
beforeAll(() => {
  Logger.overrideLogger(false);
});

const keyed = inbound({ 'idempotency-key': 'k' });

test.each<[ErrorCode, string[]]>([
  ['upstream_timeout', ['release']],
  ['budget_exceeded', ['release']],
  ['supplier_settlement_failed', []],
])('%s: failed call releases its key unless it might still be charged', async (code, expected) => {
  const notes: string[] = [];
  const call = runOrReplay(
    new Idempotency(storeLogging(notes), settings),
    keyed,
    { call: chat, work: new RequestWork() },
    () => Promise.reject<Reply>(fault(code)),
  );
  await expect(call).rejects.toMatchObject({ code });
  expect(notes).toEqual(expected);
});

test('stored call continues after its client disconnects, any other call is aborted', async () => {
  const works = { kept: new RequestWork(), streamed: new RequestWork() };
  const idempotency = new Idempotency(storeLogging([]), settings);
  const disconnect = (work: RequestWork) => (): Promise<Reply> => {
    work.leave();
    return Promise.resolve(reply);
  };
  expect(
    await runOrReplay(idempotency, keyed, { call: chat, work: works.kept }, disconnect(works.kept)),
  ).toBe(reply);
  expect(works.kept).toMatchObject({ callerLeft: true, stopped: null });
  const stream = { ...chat, stream: true };
  await runOrReplay(idempotency, keyed, { call: stream, work: works.streamed }, disconnect(works.streamed));
  expect(works.streamed.stopped).toMatchObject({ status: 499, outcome: 'caller_left' });
});

test('response is stored before it is returned', async () => {
  const notes: string[] = [];
  const idempotency = new Idempotency(storeLogging(notes), settings);
  expect(
    await runOrReplay(idempotency, keyed, { call: chat, work: new RequestWork() }, () =>
      Promise.resolve(reply),
    ),
  ).toBe(reply);
  expect(notes).toEqual(['store']);
  await runOrReplay(idempotency, keyed, { call: chat, work: new RequestWork() }, () =>
    Promise.resolve({ ...reply, body: Buffer.alloc(1_001) }),
  );
  expect(notes).toEqual(['store', 'markUnstored']);
});

test('request that always loses the race receives operation_in_progress', async () => {
  let attempts = 0;
  const busyStore = storeLogging([], () => {
    attempts += 1;
    return false;
  });
  const call = runOrReplay(
    new Idempotency(busyStore, settings),
    keyed,
    { call: chat, work: new RequestWork() },
    () => Promise.resolve(reply),
  );
  await expect(call).rejects.toMatchObject({ code: 'operation_in_progress' });
  expect(attempts).toBe(3);
});

test('form hash ignores the boundary and changes with any part', async () => {
  const hashOf = async (boundary: string, text: string, file: string): Promise<string> => {
    const part = (head: string, body: string): string =>
      `--${boundary}\r\nContent-Disposition: form-data; ${head}\r\n\r\n${body}\r\n`;
    const formText =
      part('name="model"', text) + part('name="file"; filename="a.wav"', file) + `--${boundary}--`;
    const bytes = Buffer.from(formText);
    const form = await parseForm(bytes, `multipart/form-data; boundary=${boundary}`);
    const { requestId, headers } = inbound({ 'idempotency-key': 'k' });
    const hashInput = { requestId, keyId: 1, headers, content: () => contentOf({ bytes, form }) };
    return operationOf(hashInput, 'transcription', 'pepper')?.requestHash.toString('hex') ?? '';
  };
  const firstHash = await hashOf('one', 'a', 'xyz');
  expect(firstHash).toBe(await hashOf('two', 'a', 'xyz'));
  const otherHashes = [await hashOf('one', 'b', 'xyz'), await hashOf('one', 'a', 'xyw')];
  expect(new Set([firstHash, ...otherHashes]).size).toBe(3);
});

describe('Unresponsive database', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());
  const pending = new Promise<never>(() => undefined);

  test('delays a call for five seconds and then refuses it without running it', async () => {
    const silentStore = { claim: () => pending } as unknown as IdempotencyStore;
    const execute = jest.fn(() => Promise.resolve(reply));
    const call = runOrReplay(
      new Idempotency(silentStore, settings),
      keyed,
      { call: chat, work: new RequestWork() },
      execute,
    );
    const rejection = expect(call).rejects.toMatchObject({ code: 'service_unavailable' });
    await jest.advanceTimersByTimeAsync(5_001);
    await rejection;
    expect(execute).not.toHaveBeenCalled();
  });

  test('does not delay a response that was paid for', async () => {
    const silentStore = { ...storeLogging([]), store: () => pending } as unknown as IdempotencyStore;
    const call = runOrReplay(
      new Idempotency(silentStore, settings),
      keyed,
      { call: chat, work: new RequestWork() },
      () => Promise.resolve(reply),
    );
    await jest.advanceTimersByTimeAsync(5_001);
    expect(await call).toBe(reply);
    expect(jest.getTimerCount()).toBe(0);
  });
});

describe('Idempotency leases', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  test('are renewed together while their calls run and no longer', () => {
    const renewedClaims: (readonly string[])[] = [];
    const leases = new Leases((claims) => Promise.resolve(void renewedClaims.push(claims)), 10_000);
    leases.start('one');
    jest.advanceTimersByTime(9_999);
    leases.start('two');
    expect(renewedClaims).toEqual([]);
    jest.advanceTimersByTime(1);
    leases.end('one');
    jest.advanceTimersByTime(10_000);
    expect(renewedClaims).toEqual([['one', 'two'], ['two']]);
    leases.end('two');
    expect(jest.getTimerCount()).toBe(0);
    leases.start('three');
    jest.advanceTimersByTime(10_000);
    expect(renewedClaims.at(-1)).toEqual(['three']);
    leases.end('three');
  });
});
