import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** Application name of the announcement connection. */
const ANNOUNCEMENT_APPLICATION = 'switchboard-notifications';

/** A proxy before the database that can block announcements while all other connections continue to work. */
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
    const proxyUrl = new URL(target);
    proxyUrl.hostname = '127.0.0.1';
    proxyUrl.port = String((server.address() as AddressInfo).port);
    const gate = new AnnouncementGate(proxyUrl.href, server);
    server.on('connection', (inward) => gate.forward(inward, hostname, Number(port)));
    return gate;
  }

  /** Closes open announcement connections and rejects new ones. */
  close(): void {
    this.closed = true;
  }

  stop(): void {
    this.server.close();
    for (const socket of this.sockets) socket.destroy();
  }

  private forward(inward: Socket, host: string, port: number): void {
    const outward = connect(port, host);
    let isAnnouncement = false;
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
      isAnnouncement ||= chunk.includes(ANNOUNCEMENT_APPLICATION);
      if (!(isAnnouncement && this.closed)) outward.write(chunk);
    });
    outward.on('data', (chunk) => {
      if (!(isAnnouncement && this.closed)) inward.write(chunk);
    });
  }
}
