import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { MessageReader } from './wire';

/** Response of the fake supplier to a completely received request. */
export type SupplierBehaviour = (socket: Socket) => void;

/**
 * Supplier with minimal cost: detects only where a request ends, and sends prepared bytes. Runs in the process of the
 * callers, so that it knows what they received.
 */
export class Supplier {
  /** Set by each measurement; applies to the requests of that moment. */
  behaviour: SupplierBehaviour = (socket) => void socket.destroy();
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

/** Sends the same non-streaming response to every caller. */
export const respondWith =
  (bytes: Buffer): SupplierBehaviour =>
  (socket) =>
    void socket.write(bytes);

export interface StreamScript {
  /** Head of the response and everything before the first piece. */
  readonly opening: Buffer;
  /** Contains the mark exactly once. */
  readonly piece: Buffer;
  readonly closing: Buffer;
  /** Pieces per stream. */
  readonly length: number;
  /** Events per piece. */
  readonly events: number;
}

/**
 * Streams in lockstep with their readers: for every piece a caller received, the next stream sends one. The gateway
 * always has work, but never reads two pieces of a stream together, which would flatter it.
 */
export class SteppedStreams {
  pieces = 0;
  private readonly open: { readonly socket: Socket; left: number }[] = [];
  private nextStream = 0;

  constructor(private readonly script: StreamScript) {}

  readonly behaviour: SupplierBehaviour = (socket) => {
    const { opening, piece, length } = this.script;
    this.open.push({ socket, left: length - 1 });
    this.pieces += 1;
    socket.write(Buffer.concat([opening, piece]));
  };

  /** Called when a piece has arrived. */
  step(): void {
    if (this.open.length === 0) return;
    if (this.nextStream >= this.open.length) this.nextStream = 0;
    const stream = this.open[this.nextStream];
    if (stream === undefined) return;
    if (stream.left === 0) {
      this.open.splice(this.nextStream, 1);
      stream.socket.write(this.script.closing);
      return;
    }
    stream.left -= 1;
    this.nextStream += 1;
    this.pieces += 1;
    stream.socket.write(this.script.piece);
  }
}
