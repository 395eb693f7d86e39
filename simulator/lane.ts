import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Exchange, type LaneName, type SharedState } from './exchange';

/** A listening port that responds as a supplier. */
export class Lane {
  private readonly server: Server;
  private port: number;
  private connections = 0;
  private open = 0;
  private isListening = false;

  constructor(
    readonly name: LaneName,
    private readonly host: string,
    port: number,
    shared: SharedState,
  ) {
    this.port = port;
    this.server = createServer({ keepAliveTimeout: 75_000 }, (request, response) => {
      new Exchange(request, response, name, shared);
    });
    this.server.on('connection', (socket) => {
      this.connections++;
      this.open++;
      socket.once('close', () => this.open--);
    });
  }

  get url(): string {
    return `http://${this.host}:${this.port}`;
  }

  /** `connections` counts every connection ever accepted, so that a test can prove there was none. */
  counts(): {
    readonly name: string;
    readonly region: string;
    readonly connections: number;
    readonly open: number;
  } {
    return { ...this.name, connections: this.connections, open: this.open };
  }

  async listen(): Promise<void> {
    if (this.isListening) return;
    await listenOn(this.server, this.port, this.host);
    this.port = (this.server.address() as AddressInfo).port;
    this.isListening = true;
  }

  /** Closes the port immediately, so that connections to it are refused. */
  async refuse(): Promise<void> {
    await this.close(0);
  }

  async close(graceMs: number): Promise<void> {
    if (!this.isListening) return;
    this.isListening = false;
    const closed = new Promise<void>((resolve) => this.server.close(() => resolve()));
    this.server.closeIdleConnections();
    if (graceMs === 0) this.server.closeAllConnections();
    const timer = setTimeout(() => this.server.closeAllConnections(), graceMs);
    await closed;
    clearTimeout(timer);
  }
}

export function listenOn(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}
