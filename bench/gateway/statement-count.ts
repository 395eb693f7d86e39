import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

const QUERY = 'Q'.charCodeAt(0);
const EXECUTE = 'E'.charCodeAt(0);
const TYPE_AND_LENGTH = 5;

/**
 * Proxy between the gateway and its database that counts every statement on the wire, including BEGIN and COMMIT. The
 * gateway's own count could miss some.
 */
export class StatementCountingProxy {
  statements = 0;

  private constructor(
    private readonly server: Server,
    private readonly target: URL,
  ) {
    server.on('connection', (inward) => this.pass(inward));
  }

  static async startFor(url: string): Promise<StatementCountingProxy> {
    const server = createServer({ noDelay: true });
    const count = new StatementCountingProxy(server, new URL(url));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return count;
  }

  /** The database URL through the proxy. */
  through(url: string): string {
    const address = new URL(url);
    address.port = String((this.server.address() as AddressInfo).port);
    return address.href;
  }

  stop(): void {
    this.server.close();
  }

  private pass(clientSocket: Socket): void {
    const upstreamSocket = connect({
      port: Number(this.target.port),
      host: this.target.hostname,
      noDelay: true,
    });
    const frames = new FrameParser((type) => {
      if (type === QUERY || type === EXECUTE) this.statements += 1;
    });
    clientSocket.on('data', (bytes) => {
      frames.push(bytes);
      upstreamSocket.write(bytes);
    });
    upstreamSocket.on('data', (bytes) => clientSocket.write(bytes));
    for (const [socket, other] of [
      [clientSocket, upstreamSocket],
      [upstreamSocket, clientSocket],
    ] as const) {
      socket.on('error', () => undefined);
      socket.on('close', () => other.destroy());
    }
  }
}

/** Parses client messages; only the very first one has no type byte. */
class FrameParser {
  private isStarted = false;
  private pending: Buffer = Buffer.alloc(0);
  private skip = 0;

  constructor(private readonly onMessage: (type: number) => void) {}

  push(bytes: Buffer): void {
    let remaining = this.pending.length === 0 ? bytes : Buffer.concat([this.pending, bytes]);
    this.pending = Buffer.alloc(0);
    for (;;) {
      const skipped = Math.min(this.skip, remaining.length);
      this.skip -= skipped;
      remaining = remaining.subarray(skipped);
      if (remaining.length < TYPE_AND_LENGTH) break;
      if (this.isStarted) {
        this.onMessage(remaining[0] ?? 0);
        this.skip = remaining.readUInt32BE(1) + 1;
      } else {
        this.isStarted = true;
        this.skip = remaining.readUInt32BE(0);
      }
    }
    this.pending = remaining;
  }
}
