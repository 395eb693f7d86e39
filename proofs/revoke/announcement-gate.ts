import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** The connection for announcements introduces itself so. */
const ANNOUNCEMENTS = 'switchboard-notifications';

/** A proxy before the database. It can block announcements while all other connections keep working. */
export class AnnouncementGate {
  private readonly sockets = new Set<Socket>();
  private closed = false;

  private constructor(
    readonly url: string,
    private readonly server: ReturnType<typeof createServer>,
  ) {}

  static async open(target: string): Promise<AnnouncementGate> {
    const { hostname, port } = new URL(target);
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const through = new URL(target);
    through.hostname = '127.0.0.1';
    through.port = String((server.address() as AddressInfo).port);
    const gate = new AnnouncementGate(through.href, server);
    server.on('connection', (inward) => gate.pass(inward, hostname, Number(port)));
    return gate;
  }

  /** Blocks the open connections for announcements and refuses new ones. */
  close(): void {
    this.closed = true;
  }

  stop(): void {
    this.server.close();
    for (const socket of this.sockets) socket.destroy();
  }

  private pass(inward: Socket, host: string, port: number): void {
    const outward = connect(port, host);
    let announces = false;
    for (const [from, to] of [
      [inward, outward],
      [outward, inward],
    ] as const) {
      this.sockets.add(from);
      from.on('error', () => to.destroy());
      from.on('close', () => {
        this.sockets.delete(from);
        to.destroy();
      });
    }
    inward.on('data', (chunk) => {
      announces ||= chunk.includes(ANNOUNCEMENTS);
      if (!(announces && this.closed)) outward.write(chunk);
    });
    outward.on('data', (chunk) => {
      if (!(announces && this.closed)) inward.write(chunk);
    });
  }
}
