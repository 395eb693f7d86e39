import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { MARK } from './scripts';
import { MessageReader } from './wire';

/** Keep-alive connection with one request in flight. */
export class Caller {
  /** Called when the response is complete. */
  onResponse: () => void = () => undefined;
  /** Called for every piece of a stream. */
  onPiece: (() => void) | null = null;
  private errorText = '';

  private constructor(
    private readonly socket: Socket,
    private readonly onFailure: (reason: string) => void,
  ) {
    const reader = new MessageReader({
      head: (text) => {
        this.errorText = text.slice(9, 12) === '200' ? '' : text;
      },
      body: (bytes) => this.body(bytes),
      end: () => {
        if (this.errorText !== '') onFailure(this.errorText);
        this.onResponse();
      },
    });
    socket.on('data', (bytes) => reader.push(bytes));
    socket.on('error', ({ message }) => onFailure(message));
    socket.on('close', () => onFailure('the connection was closed'));
  }

  static async open(port: number, onFailure: (reason: string) => void): Promise<Caller> {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    await once(socket, 'connect');
    return new Caller(socket, onFailure);
  }

  send(request: Buffer): void {
    this.socket.write(request);
  }

  close(): void {
    this.socket.removeAllListeners('close');
    this.socket.destroy();
  }

  private body(bytes: Buffer): void {
    if (this.errorText !== '') this.errorText += bytes.toString();
    if (this.onPiece === null) return;
    for (let at = bytes.indexOf(MARK); at !== -1; at = bytes.indexOf(MARK, at + MARK.length)) this.onPiece();
  }
}

export interface RequestTemplate {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: object;
}

export function requestBytes({ path, headers, body }: RequestTemplate): Buffer {
  const text = JSON.stringify(body);
  const lines = Object.entries({
    host: '127.0.0.1',
    'content-type': 'application/json',
    accept: 'application/json',
    'user-agent': 'bench/1.0',
    ...headers,
    'content-length': String(Buffer.byteLength(text)),
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n${text}`);
}
