import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export interface WireAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * `closed`: connection closed before a complete response. `silent`: neither a response nor a close before the deadline.
 * `refused`: no server listens.
 */
export type WireOutcome =
  | { readonly kind: 'answer'; readonly answer: WireAnswer }
  | { readonly kind: 'closed' }
  | { readonly kind: 'silent' }
  | { readonly kind: 'refused' };

export interface WireRequest {
  readonly method: string;
  readonly bytes: Buffer;
  /** No other request follows on the connection. */
  readonly isAlone: boolean;
  /** Announces more bytes than it sends, so that only the end of the connection can be awaited. */
  readonly isIncomplete: boolean;
}

const DEADLINE_MS = 15_000;

/** A connection that sends bytes unchanged and is reused if HTTP allows it. */
export class Wire {
  private socket: Socket | null = null;

  constructor(private readonly port: number) {}

  async send({ method, bytes, isAlone: alone, isIncomplete: broken }: WireRequest): Promise<WireOutcome> {
    if (alone) this.close();
    const socket = await this.open();
    if (socket === null) return { kind: 'refused' };
    const outcome = await exchange(socket, bytes, method === 'HEAD', broken);
    const keepsAlive =
      outcome.kind === 'answer' && outcome.answer.headers['connection'] !== 'close' && !alone;
    if (!keepsAlive) this.close();
    return outcome;
  }

  close(): void {
    this.socket?.destroy();
    this.socket = null;
  }

  private async open(): Promise<Socket | null> {
    if (this.socket !== null && this.socket.writable && !this.socket.readableEnded) return this.socket;
    const socket = connect({ port: this.port, host: '127.0.0.1', noDelay: true });
    socket.on('error', () => undefined);
    this.socket = socket;
    await once(socket, 'connect').catch(() => undefined);
    return socket.readyState === 'open' ? socket : null;
  }
}

function exchange(socket: Socket, bytes: Buffer, headOnly: boolean, isHalf: boolean): Promise<WireOutcome> {
  return new Promise((resolve) => {
    let received: Buffer = Buffer.alloc(0);
    const finish = (outcome: WireOutcome): void => {
      clearTimeout(timer);
      socket.off('data', onData).off('close', onClose).off('end', onClose);
      resolve(outcome);
    };
    const timer = setTimeout(() => finish({ kind: 'silent' }), DEADLINE_MS);
    const onData = (chunk: Buffer): void => {
      received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
      const answer = parse(received, headOnly, false);
      if (answer !== null) finish({ kind: 'answer', answer });
    };
    const onClose = (): void => {
      const answer = parse(received, headOnly, true);
      finish(answer === null ? { kind: 'closed' } : { kind: 'answer', answer });
    };
    socket.on('data', onData).on('close', onClose).on('end', onClose);
    if (isHalf) socket.end(bytes);
    else socket.write(bytes);
  });
}

/** Returns null until the response is complete. */
function parse(bytes: Buffer, headOnly: boolean, closed: boolean): WireAnswer | null {
  const end = bytes.indexOf('\r\n\r\n');
  if (end === -1) return null;
  const [first = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n');
  const status = Number(first.split(' ')[1]);
  // An interim response such as "100 Continue"; the final one follows.
  if (status < 200) return parse(bytes.subarray(end + 4), headOnly, closed);
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const colon = line.indexOf(':');
    headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim();
  }
  const body = bodyOf(bytes.subarray(end + 4), status, headers, headOnly, closed);
  return body === null ? null : { status, headers, body: body.toString('utf8') };
}

function bodyOf(
  bodyBytes: Buffer,
  status: number,
  headers: Readonly<Record<string, string>>,
  headOnly: boolean,
  closed: boolean,
): Buffer | null {
  if (headOnly || status === 204 || status === 304) return Buffer.alloc(0);
  if (headers['transfer-encoding'] === 'chunked') return decodeChunks(bodyBytes);
  const length = headers['content-length'];
  if (length === undefined) return closed ? bodyBytes : null;
  return bodyBytes.length < Number(length) ? null : bodyBytes.subarray(0, Number(length));
}

function decodeChunks(bodyBytes: Buffer): Buffer | null {
  const pieces: Buffer[] = [];
  for (let at = 0; ;) {
    const line = bodyBytes.indexOf('\r\n', at);
    if (line === -1) return null;
    const size = parseInt(bodyBytes.toString('latin1', at, line), 16);
    if (size === 0) return bodyBytes.indexOf('\r\n\r\n', line) === -1 ? null : Buffer.concat(pieces);
    if (!(size > 0) || bodyBytes.length < line + 2 + size + 2) return null;
    pieces.push(bodyBytes.subarray(line + 2, line + 2 + size));
    at = line + 2 + size + 2;
  }
}
