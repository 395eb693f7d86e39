import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export interface WireAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * `closed`: hung up without a whole answer. `silent`: neither answered nor hung up in time. `refused`: no server listens.
 */
export type Outcome =
  | { readonly kind: 'answer'; readonly answer: WireAnswer }
  | { readonly kind: 'closed' }
  | { readonly kind: 'silent' }
  | { readonly kind: 'refused' };

export interface WireRequest {
  readonly method: string;
  readonly bytes: Buffer;
  /** No other request follows on the connection. */
  readonly alone: boolean;
  /** It promises more than it sends, so that nothing but its end can be waited for. */
  readonly broken: boolean;
}

const DEADLINE_MS = 15_000;

/** A connection that sends exactly the bytes it is given, and is used again where HTTP allows it. */
export class Wire {
  private socket: Socket | null = null;

  constructor(private readonly port: number) {}

  async send({ method, bytes, alone, broken }: WireRequest): Promise<Outcome> {
    if (alone) this.close();
    const socket = await this.open();
    if (socket === null) return { kind: 'refused' };
    const outcome = await exchange(socket, bytes, method === 'HEAD', broken);
    const keeps = outcome.kind === 'answer' && outcome.answer.headers['connection'] !== 'close' && !alone;
    if (!keeps) this.close();
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

function exchange(socket: Socket, bytes: Buffer, headOnly: boolean, half: boolean): Promise<Outcome> {
  return new Promise((resolve) => {
    let received: Buffer = Buffer.alloc(0);
    const finish = (outcome: Outcome): void => {
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
    if (half) socket.end(bytes);
    else socket.write(bytes);
  });
}

/** Null until the answer is whole. */
function parse(bytes: Buffer, headOnly: boolean, closed: boolean): WireAnswer | null {
  const end = bytes.indexOf('\r\n\r\n');
  if (end === -1) return null;
  const [first = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n');
  const status = Number(first.split(' ')[1]);
  // Such as "100 Continue": the real one follows.
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
  rest: Buffer,
  status: number,
  headers: Readonly<Record<string, string>>,
  headOnly: boolean,
  closed: boolean,
): Buffer | null {
  if (headOnly || status === 204 || status === 304) return Buffer.alloc(0);
  if (headers['transfer-encoding'] === 'chunked') return unchunked(rest);
  const length = headers['content-length'];
  if (length === undefined) return closed ? rest : null;
  return rest.length < Number(length) ? null : rest.subarray(0, Number(length));
}

function unchunked(rest: Buffer): Buffer | null {
  const pieces: Buffer[] = [];
  for (let at = 0; ;) {
    const line = rest.indexOf('\r\n', at);
    if (line === -1) return null;
    const size = parseInt(rest.toString('latin1', at, line), 16);
    if (size === 0) return rest.indexOf('\r\n\r\n', line) === -1 ? null : Buffer.concat(pieces);
    if (!(size > 0) || rest.length < line + 2 + size + 2) return null;
    pieces.push(rest.subarray(line + 2, line + 2 + size));
    at = line + 2 + size + 2;
  }
}
