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
  /** Most of these tests are about what comes over one connection: it is used again at once. */
  supplierRestMs: 0,
  supplierConnectTimeoutMs: 1_000,
  supplierFirstByteTimeoutMs: 5_000,
  supplierIdleTimeoutMs: 5_000,
  supplierTotalTimeoutMs: 10_000,
};

export interface Outcome {
  status?: number;
  headers?: IncomingHttpHeaders;
  body: Buffer;
  text: string;
  error?: Error & { code?: string };
  ends: number;
}

export interface Asked {
  readonly head: string;
  readonly body: Buffer;
  readonly socket: Socket;
  /** It came over this connection, the first being 1. */
  readonly connection: number;
}

export interface RawSupplier {
  readonly port: number;
  readonly asked: Asked[];
  readonly sockets: Socket[];
}

const cleanups: (() => unknown)[] = [];
const outcomes: Outcome[] = [];

export const closeLater = (close: () => unknown): void => void cleanups.push(close);

/** To be called after each test: closes everything, whereupon every call must have ended once. */
export async function closeEverything(): Promise<void> {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  for (const { ends } of outcomes.splice(0)) expect(ends).toBe(1);
}

/** A supplier that does with its connections whatever it likes. */
export async function listen(
  onConnection: (socket: Socket, connection: number) => void,
): Promise<RawSupplier> {
  const sockets: Socket[] = [];
  const usual = { allowHalfOpen: true, noDelay: true };
  const serve = (socket: Socket): void => {
    sockets.push(socket);
    socket.on('error', () => undefined).on('end', () => socket.end());
    onConnection(socket, sockets.length);
  };
  const server: Server =
    way.tls === undefined
      ? createServer(usual, serve)
      : createSecureServer({ ...usual, ...way.tls }, serve).on('tlsClientError', () => undefined);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  cleanups.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, asked: [], sockets };
}

/** A supplier that takes whole requests and answers with bytes of its own. */
export async function answer(answerTo: (asked: Asked, nth: number) => void): Promise<RawSupplier> {
  const asked: Asked[] = [];
  const supplier = await listen((socket, connection) => {
    let come = Buffer.alloc(0);
    socket.on('data', (bytes: Buffer) => {
      come = Buffer.concat([come, bytes]);
      const end = come.indexOf('\r\n\r\n');
      if (end === -1) return;
      const head = come.toString('latin1', 0, end);
      const length = Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? 0);
      if (come.length < end + 4 + length) return;
      const body = come.subarray(end + 4);
      come = Buffer.alloc(0);
      asked.push({ head, body, socket, connection });
      answerTo(asked.at(-1)!, asked.length);
    });
  });
  return { ...supplier, asked };
}

export const ok = (text: string, headers = ''): string =>
  `HTTP/1.1 200 OK\r\n${headers}content-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`;

type Opened = (terms: typeof settings, guard: AddressGuard) => SupplierTransport;

/** The cases are tried in this way; another one names what is different about it. */
export interface Way {
  readonly open: Opened;
  /** Nothing stands between us and the supplier: what it did is known at once, as it did it. */
  readonly isDirect: boolean;
  /** The supplier has this name. */
  readonly name?: string;
  /** It speaks TLS. */
  readonly tls?: { readonly cert: string; readonly key: string };
}

let way: Way = { open: (terms, guard) => new WireTransport(terms, guard), isDirect: true };

export const goBy = (other: Way): void => void (way = other);
/** A case that another way does not have is none of its tests. */
const noTest = Object.assign(() => undefined, { each: () => () => undefined }) as unknown as typeof test;

/** To be used where a file is read: a case that holds only there. */
export const whereDirect = (): typeof test => (way.isDirect ? test : noTest);
/** An end without a length is a cut where a connection is encrypted, and resets are not told from it. */
export const wherePlain = (): typeof test => (way.tls === undefined ? test : noTest);

/** The transport that is tried. */
export function openTransport(
  guard: AddressGuard,
  changes: Partial<typeof settings> = {},
): SupplierTransport {
  const transport = way.open({ ...settings, ...changes }, guard);
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
  url: new URL(`${way.tls === undefined ? 'http' : 'https'}://${way.name ?? '127.0.0.1'}:${port}/`),
  method: 'GET',
  headers: {},
  ...extra,
});

/** Makes a call; `reader` hears of each event first. */
export function call(pools: SupplierTransport, request: SupplierRequest, reader: SupplierHandler = {}) {
  const pieces: Buffer[] = [];
  const told: Outcome = { body: Buffer.alloc(0), text: '', ends: 0 };
  const begun = Promise.withResolvers<void>();
  const over = Promise.withResolvers<Outcome>();
  const end = (error?: Error): void => {
    told.ends += 1;
    told.body = Buffer.concat(pieces);
    told.text = told.body.toString();
    if (error) told.error = error;
    over.resolve(told);
  };
  const supplierCall = pools.dispatch(request, {
    onHead: (status, headers) => {
      reader.onHead?.(status, headers);
      Object.assign(told, { status, headers });
    },
    onData: (piece) => {
      reader.onData?.(piece);
      pieces.push(piece);
      begun.resolve();
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
  outcomes.push(told);
  return { call: supplierCall, told, outcome: over.promise, begun: begun.promise };
}
