import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Lifecycle } from '#product/gateway';
import { startSimulator, type Simulator } from '../../../support/simulator';
import { startTestApp, type TestApp } from '../../../support/app';
import { until } from '../../../support/until';

const KIB = 1024;
const READERS = 4;
const STALL_MS = 3_000;
/** Far more than two sockets' buffers hold. */
const TOKENS = 60_000;

function decodeChunked(answer: Buffer): string {
  const chunks: Buffer[] = [];
  let at = answer.indexOf('\r\n\r\n') + 4;
  for (;;) {
    const start = answer.indexOf('\r\n', at) + 2;
    const length = parseInt(answer.toString('latin1', at, start - 2), 16);
    if (length === 0) return Buffer.concat(chunks).toString();
    chunks.push(answer.subarray(start, start + length));
    at = start + length + 2;
  }
}

interface ContentChunk {
  readonly choices: readonly { readonly delta: { readonly content?: string } }[];
}

/** Text of a stream, in which every event has to be complete. */
const wordsIn = (stream: string): string =>
  stream
    .split('\n\n')
    .filter((event) => event.startsWith('data: {'))
    .map(
      (event) => (JSON.parse(event.slice('data: '.length)) as ContentChunk).choices[0]?.delta.content ?? '',
    )
    .join('');

describe('Slow clients', () => {
  let app: TestApp;
  let supplier: Simulator;
  const answers = new Set<ServerResponse>();
  const sockets: Socket[] = [];

  beforeAll(async () => {
    supplier = await startSimulator();
    app = await startTestApp({
      sandboxUrl: supplier.url,
      environment: { CLIENT_STALL_TIMEOUT: `${STALL_MS}ms` },
    });
    const server = app.application.getHttpServer() as Server;
    server.on('request', (_request: IncomingMessage, response: ServerResponse) => {
      answers.add(response);
      response.once('close', () => answers.delete(response));
    });
  });
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
  });
  afterAll(async () => {
    await app.close();
    await supplier.stop();
  });

  const requestText = (body: object): string => {
    const text = JSON.stringify({ model: 'sim-small', max_tokens: 100_000, ...body });
    return (
      `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\nauthorization: Bearer ${app.firstKeys?.demo}\r\n` +
      `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`
    );
  };
  const chatFields = (tokens: number): object => ({
    messages: [{ role: 'user', content: `go on [[tokens=${tokens}]]` }],
  });

  /** Opens a connection that reads nothing until `read` is called. */
  async function openConnection(body: object): Promise<Socket> {
    const { hostname, port } = new URL(app.url);
    const socket = connect(Number(port), hostname);
    socket.on('error', () => undefined);
    sockets.push(socket);
    await once(socket, 'connect');
    socket.pause();
    socket.write(requestText(body));
    return socket;
  }

  /** Reads the complete decoded body, awaiting `between` before every MiB. */
  async function readBody(socket: Socket, between: () => Promise<void>): Promise<string> {
    const chunks: Buffer[] = [];
    await once(socket, 'readable', { signal: AbortSignal.timeout(30_000) });
    let [taken, end] = [KIB * KIB, ''];
    while (!/\r\n0\r\n(?:[^\r]+\r\n)*\r\n$/.test(end)) {
      if (taken >= KIB * KIB) {
        await between();
        taken = 0;
      }
      const chunk = socket.read() as Buffer | null;
      if (chunk === null) {
        await once(socket, 'readable', { signal: AbortSignal.timeout(30_000) });
        continue;
      }
      taken += chunk.length;
      chunks.push(chunk);
      end = (end + chunk.toString('latin1')).slice(-512);
    }
    return decodeChunked(Buffer.concat(chunks));
  }

  test('stalled clients buffer at most 64 KiB each, slow the supplier down and are dropped', async () => {
    await supplier.clearRequests();
    await supplier.addFault({ fault: { kind: 'split', bytes: 8 * KIB } });
    await Promise.all(
      Array.from({ length: READERS }, () => openConnection({ ...chatFields(TOKENS), stream: true })),
    );
    let maxBufferedBytes = 0;
    const timer = setInterval(() => {
      for (const { writableLength } of answers) maxBufferedBytes = Math.max(maxBufferedBytes, writableLength);
    }, 2);
    await supplier.waitForClosed(READERS, 'client-closed', 60_000);
    clearInterval(timer);
    expect(maxBufferedBytes).toBeGreaterThan(0);
    expect(maxBufferedBytes).toBeLessThanOrEqual(64 * KIB);
    await app.application.get(Lifecycle).waitUntilIdle(5_000);
    const records = await app.database.query<{ code: string; output_tokens: number }>(
      "SELECT code, output_tokens FROM request_record WHERE stream AND code = 'caller_left'",
    );
    expect(records).toHaveLength(READERS);
    for (const { output_tokens: tokens } of records) expect(tokens).toBeLessThan(TOKENS);
    await supplier.clearFaults();
  }, 90_000);

  test('non-streaming response that a client does not read is dropped', async () => {
    await supplier.addFault({ fault: { kind: 'huge-body', bytes: 20 * KIB * KIB } });
    await openConnection(chatFields(5));
    await until(() => [...answers].some(({ writableLength }) => writableLength > 0));
    await until(() => answers.size === 0);
    await supplier.clearFaults();
  });

  test('slow but steady client receives everything', async () => {
    const socket = await openConnection({ ...chatFields(20_000), stream: true });
    let [readBytes, end] = [0, ''];
    const startedAt = performance.now();
    while (!end.endsWith('0\r\n\r\n') && !/x-svc-cost-usd: [\d.]+\r\n\r\n$/.test(end)) {
      const chunk = socket.read() as Buffer | null;
      if (chunk === null) {
        await once(socket, 'readable', { signal: AbortSignal.timeout(30_000) });
        continue;
      }
      readBytes += chunk.length;
      end = (end + chunk.toString('latin1')).slice(-512);
      // Slow enough that the complete transfer exceeds the stall timeout.
      await delay(60);
    }
    expect(end).toContain('data: [DONE]');
    expect(readBytes).toBeGreaterThan(1_000 * KIB);
    expect(performance.now() - startedAt).toBeGreaterThan(STALL_MS);
  });

  test('slow client receives the same text as a fast one', async () => {
    // Reads never end at an event boundary, so events always have to be reassembled.
    await supplier.addFault({ fault: { kind: 'split', bytes: 7_777 } });
    const body = { ...chatFields(TOKENS), stream: true };
    const fastBody = await readBody(await openConnection(body), () => Promise.resolve());
    let waits = 0;
    const slowBody = await readBody(await openConnection(body), async () => {
      await until(() => [...answers].every(({ writableNeedDrain: waiting }) => waiting));
      waits += answers.size;
    });
    expect(wordsIn(slowBody)).toBe(wordsIn(fastBody));
    expect(wordsIn(fastBody).split(' ').length).toBeGreaterThan(TOKENS / 2);
    expect(waits).toBeGreaterThan(2);
    await supplier.clearFaults();
  });

  test('connection that waits for a slow response is not dropped', async () => {
    await supplier.addFault({ fault: { kind: 'delay', ms: STALL_MS + 1_000 } });
    const answer = await fetch(`${app.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${app.firstKeys?.demo}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'sim-small', ...chatFields(3) }),
    });
    expect(answer.status).toBe(200);
    await supplier.clearFaults();
  });
});
