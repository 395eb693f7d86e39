import { once } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createServer as createSecureServer } from 'node:tls';
import {
  AddressGuard,
  type SupplierHandler,
  type SupplierTransport,
  WireTransport,
  type SupplierRequest,
} from '../../../../../src/platform/supplier-http';

export const settings = {
  supplierConnections: 8,
  /** Connections are reused immediately, as most tests are about what arrives on a single one. */
  supplierRestMs: 0,
  supplierConnectTimeoutMs: 1_000,
  supplierFirstByteTimeoutMs: 5_000,
  supplierIdleTimeoutMs: 5_000,
  supplierTotalTimeoutMs: 10_000,
};

export interface CallOutcome {
  status?: number;
  headers?: IncomingHttpHeaders;
  body: Buffer;
  text: string;
  error?: Error & { code?: string };
  ends: number;
}

export interface RawSupplierRequest {
  readonly head: string;
  readonly body: Buffer;
  readonly socket: Socket;
  /** Number of the connection, starting at 1. */
  readonly connection: number;
}

export interface RawSupplier {
  readonly port: number;
  readonly asked: RawSupplierRequest[];
  readonly sockets: Socket[];
}

const cleanups: (() => unknown)[] = [];
const outcomes: CallOutcome[] = [];

export const closeLater = (close: () => unknown): void => void cleanups.push(close);

/** Closes everything after a test and checks that every call ended exactly once. */
export async function closeEverything(): Promise<void> {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  for (const { ends } of outcomes.splice(0)) expect(ends).toBe(1);
}

/** Starts a supplier with full control over its connections. */
export async function listen(
  onConnection: (socket: Socket, connection: number) => void,
): Promise<RawSupplier> {
  const sockets: Socket[] = [];
  const defaultOptions = { allowHalfOpen: true, noDelay: true };
  const serve = (socket: Socket): void => {
    sockets.push(socket);
    socket.on('error', () => undefined).on('end', () => socket.end());
    onConnection(socket, sockets.length);
  };
  const server: Server =
    variant.tls === undefined
      ? createServer(defaultOptions, serve)
      : createSecureServer({ ...defaultOptions, ...variant.tls }, serve).on(
          'tlsClientError',
          () => undefined,
        );
  await once(server.listen(0, '127.0.0.1'), 'listening');
  cleanups.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, asked: [], sockets };
}

/** Starts a supplier that receives complete requests and responds with raw bytes. */
export async function answer(
  answerTo: (asked: RawSupplierRequest, nth: number) => void,
): Promise<RawSupplier> {
  const receivedRequests: RawSupplierRequest[] = [];
  const supplier = await listen((socket, connection) => {
    let received = Buffer.alloc(0);
    socket.on('data', (bytes: Buffer) => {
      received = Buffer.concat([received, bytes]);
      const end = received.indexOf('\r\n\r\n');
      if (end === -1) return;
      const head = received.toString('latin1', 0, end);
      const length = Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? 0);
      if (received.length < end + 4 + length) return;
      const body = received.subarray(end + 4);
      received = Buffer.alloc(0);
      receivedRequests.push({ head, body, socket, connection });
      answerTo(receivedRequests.at(-1)!, receivedRequests.length);
    });
  });
  return { ...supplier, asked: receivedRequests };
}

export const ok = (text: string, headers = ''): string =>
  `HTTP/1.1 200 OK\r\n${headers}content-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`;

type OpenTransport = (terms: typeof settings, guard: AddressGuard) => SupplierTransport;

/** Describes how the cases reach the supplier; variants state their differences. */
export interface ConnectionVariant {
  readonly open: OpenTransport;
  /** Whether the supplier is reached without a proxy, so that its actions are visible immediately. */
  readonly isDirect: boolean;
  /** Host name of the supplier. */
  readonly name?: string;
  /** TLS credentials of the supplier; absent for plain HTTP. */
  readonly tls?: { readonly cert: string; readonly key: string };
}

let variant: ConnectionVariant = { open: (terms, guard) => new WireTransport(terms, guard), isDirect: true };

export const useVariant = (other: ConnectionVariant): void => void (variant = other);
/** Stands in for `test` in variants that lack a case. */
const skippedTest = Object.assign(() => undefined, { each: () => () => undefined }) as unknown as typeof test;

/** Returns `test` for direct connections only; to be called while a file is loaded. */
export const testIfDirect = (): typeof test => (variant.isDirect ? test : skippedTest);
/** Returns `test` for plain connections only: TLS treats an end without a length as truncated and hides resets. */
export const testIfPlain = (): typeof test => (variant.tls === undefined ? test : skippedTest);

/** Opens the transport under test. */
export function openTransport(
  guard: AddressGuard,
  changes: Partial<typeof settings> = {},
): SupplierTransport {
  const transport = variant.open({ ...settings, ...changes }, guard);
  cleanups.push(() => transport.close());
  return transport;
}

export const openPools = (changes: Partial<typeof settings> = {}): SupplierTransport =>
  openTransport(
    new AddressGuard([{ address: '127.0.0.0', prefix: 8, family: 'ipv4' }], () =>
      Promise.resolve(['127.0.0.1']),
    ),
    changes,
  );

export const get = (port: number, extra: Partial<SupplierRequest> = {}): SupplierRequest => ({
  url: new URL(`${variant.tls === undefined ? 'http' : 'https'}://${variant.name ?? '127.0.0.1'}:${port}/`),
  method: 'GET',
  headers: {},
  ...extra,
});

/** Makes a call; `reader` receives each event first. */
export function call(pools: SupplierTransport, request: SupplierRequest, reader: SupplierHandler = {}) {
  const pieces: Buffer[] = [];
  const outcome: CallOutcome = { body: Buffer.alloc(0), text: '', ends: 0 };
  const dataReceived = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<CallOutcome>();
  const end = (error?: Error): void => {
    outcome.ends += 1;
    outcome.body = Buffer.concat(pieces);
    outcome.text = outcome.body.toString();
    if (error) outcome.error = error;
    ended.resolve(outcome);
  };
  const supplierCall = pools.dispatch(request, {
    onHead: (status, headers) => {
      reader.onHead?.(status, headers);
      Object.assign(outcome, { status, headers });
    },
    onData: (piece) => {
      reader.onData?.(piece);
      pieces.push(piece);
      dataReceived.resolve();
    },
    onEnd: () => {
      reader.onEnd?.();
      end();
    },
    onBroken: (error) => {
      reader.onBroken?.(error);
      end(error);
    },
  });
  outcomes.push(outcome);
  return { call: supplierCall, told: outcome, outcome: ended.promise, begun: dataReceived.promise };
}
