import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export interface RawAnswer {
  readonly status: number;
  /** Header names in lower case; values of repeated headers are joined. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const DEADLINE_MS = 20_000;

export async function open(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.setTimeout(DEADLINE_MS, () => socket.destroy(new Error('the server neither answered nor closed')));
  await once(socket, 'connect');
  return socket;
}

/** Reads until the server closes the connection, cleanly or with a reset. */
export async function readToEnd(socket: Socket): Promise<string> {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  let socketError: NodeJS.ErrnoException | undefined;
  socket.on('error', (error) => (socketError = error));
  if (!socket.closed) await once(socket, 'close').catch(() => undefined);
  if (socketError !== undefined && socketError.code !== 'ECONNRESET' && socketError.code !== 'EPIPE')
    throw socketError;
  return Buffer.concat(chunks).toString('utf8');
}

/** Sends raw bytes that no HTTP client library would send, and reads until the server closes. */
export async function exchange(url: string, bytes: string | Buffer): Promise<string> {
  const socket = await open(url);
  socket.write(bytes);
  return readToEnd(socket);
}

export function parseAnswer(text: string): RawAnswer {
  const end = text.indexOf('\r\n\r\n');
  const [first = '', ...lines] = text.slice(0, end).split('\r\n');
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).toLowerCase();
    const value = line.slice(colon + 1).trim();
    headers[name] = name in headers ? `${headers[name]}, ${value}` : value;
  }
  const raw = text.slice(end + 4);
  const body = headers['transfer-encoding'] === 'chunked' ? unchunked(raw) : raw;
  return { status: Number(first.split(' ')[1]), headers, body };
}

function unchunked(raw: string): string {
  let remaining = raw;
  let body = '';
  for (;;) {
    const line = remaining.indexOf('\r\n');
    const size = parseInt(remaining.slice(0, line), 16);
    if (!(size > 0)) return body;
    body += remaining.slice(line + 2, line + 2 + size);
    remaining = remaining.slice(line + 2 + size + 2);
  }
}

export interface RawRequest {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

/** Sends one request with path and headers unmodified. */
export async function sendRaw(url: string, request: RawRequest): Promise<RawAnswer> {
  const { method = 'GET', path, headers = {}, body } = request;
  const allHeaders: Record<string, string> = {
    host: new URL(url).host,
    connection: 'close',
    ...(body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }),
    ...headers,
  };
  const lines = Object.entries(allHeaders).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`, 'latin1');
  return parseAnswer(await exchange(url, Buffer.concat([head, Buffer.from(body ?? '')])));
}
