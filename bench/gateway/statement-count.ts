import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

const QUERY = 'Q'.charCodeAt(0);
const EXECUTE = 'E'.charCodeAt(0);
const TYPE_AND_LENGTH = 5;

/**
 * A proxy between the gateway and its database that counts every statement on the wire, BEGIN and COMMIT included.
 * The gateway's own count could miss some.
 */
export class StatementCount {
  statements = 0;

  private constructor(
    private readonly server: Server,
    private readonly target: URL,
  ) {
    server.on('connection', (inward) => this.pass(inward));
  }

  static async before(url: string): Promise<StatementCount> {
    const server = createServer({ noDelay: true });
    const count = new StatementCount(server, new URL(url));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return count;
  }

  /** The same database, counted. */
  through(url: string): string {
    const address = new URL(url);
    address.port = String((this.server.address() as AddressInfo).port);
    return address.href;
  }

  stop(): void {
    this.server.close();
  }

  private pass(inward: Socket): void {
    const outward = connect({ port: Number(this.target.port), host: this.target.hostname, noDelay: true });
    const frames = new Frames((type) => {
      if (type === QUERY || type === EXECUTE) this.statements += 1;
    });
    inward.on('data', (bytes) => {
      frames.push(bytes);
      outward.write(bytes);
    });
    outward.on('data', (bytes) => inward.write(bytes));
    for (const [socket, other] of [
      [inward, outward],
      [outward, inward],
    ] as const) {
      socket.on('error', () => undefined);
      socket.on('close', () => other.destroy());
    }
  }
}

/** Message by message of what a client sends; only the very first one has no type. */
class Frames {
  private started = false;
  private kept: Buffer = Buffer.alloc(0);
  private skip = 0;

  constructor(private readonly onMessage: (type: number) => void) {}

  push(bytes: Buffer): void {
    let rest = this.kept.length === 0 ? bytes : Buffer.concat([this.kept, bytes]);
    this.kept = Buffer.alloc(0);
    for (;;) {
      const skipped = Math.min(this.skip, rest.length);
      this.skip -= skipped;
      rest = rest.subarray(skipped);
      if (rest.length < TYPE_AND_LENGTH) break;
      if (this.started) {
        this.onMessage(rest[0] ?? 0);
        this.skip = rest.readUInt32BE(1) + 1;
      } else {
        this.started = true;
        this.skip = rest.readUInt32BE(0);
      }
    }
    this.kept = rest;
  }
}
