import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { MessageReader } from './wire';

/** The pretend supplier does this with a request that has come in whole. */
export type Behaviour = (socket: Socket) => void;

/**
 * This supplier costs as little as one can. It looks at nothing but where a request ends, and every byte it
 * answers was prepared beforehand. It lives in the process of the callers, so that it knows what they have
 * got.
 */
export class Supplier {
  /** Set by the measurement; requests are answered by the one of that moment. */
  behaviour: Behaviour = (socket) => void socket.destroy();
  private readonly sockets = new Set<Socket>();

  private constructor(private readonly server: Server) {
    server.on('connection', (socket) => this.serve(socket));
  }

  static async start(): Promise<Supplier> {
    const server = createServer({ noDelay: true });
    const supplier = new Supplier(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return supplier;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.server.close();
    for (const socket of this.sockets) socket.destroy();
  }

  private serve(socket: Socket): void {
    this.sockets.add(socket);
    const reader = new MessageReader({ end: () => this.behaviour(socket) });
    socket.on('data', (bytes) => reader.push(bytes));
    socket.on('error', () => undefined);
    socket.on('close', () => this.sockets.delete(socket));
  }
}

/** Every caller gets the same whole answer. */
export const answering =
  (bytes: Buffer): Behaviour =>
  (socket) =>
    void socket.write(bytes);

export interface StreamScript {
  /** The head of the answer and what precedes the first piece. */
  readonly opening: Buffer;
  /** Holds the mark exactly once. */
  readonly piece: Buffer;
  readonly closing: Buffer;
  /** Pieces in one stream. */
  readonly length: number;
  /** Events in a piece. */
  readonly events: number;
}

/**
 * Streams in step with their readers: for every piece that reached a caller, the next stream in turn sends one. So
 * what is in between always has work, yet never two pieces of one stream in one read, which would flatter it.
 */
export class SteppedStreams {
  pieces = 0;
  private readonly open: { readonly socket: Socket; left: number }[] = [];
  private turn = 0;

  constructor(private readonly script: StreamScript) {}

  readonly behaviour: Behaviour = (socket) => {
    const { opening, piece, length } = this.script;
    this.open.push({ socket, left: length - 1 });
    this.pieces += 1;
    socket.write(Buffer.concat([opening, piece]));
  };

  /** A piece has arrived. */
  step(): void {
    if (this.open.length === 0) return;
    if (this.turn >= this.open.length) this.turn = 0;
    const stream = this.open[this.turn];
    if (stream === undefined) return;
    if (stream.left === 0) {
      this.open.splice(this.turn, 1);
      stream.socket.write(this.script.closing);
      return;
    }
    stream.left -= 1;
    this.turn += 1;
    this.pieces += 1;
    stream.socket.write(this.script.piece);
  }
}
