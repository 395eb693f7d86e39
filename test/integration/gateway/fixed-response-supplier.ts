import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A supplier that returns the test's response to every request and records the requests. */
export class FixedResponseSupplier {
  answer: object | string = {};
  readonly requests: Record<string, unknown>[] = [];

  private constructor(
    private readonly server: Server,
    readonly url: string,
  ) {}

  static async start(): Promise<FixedResponseSupplier> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const supplier = new FixedResponseSupplier(
      server,
      `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    );
    server.on('request', (request, response) => {
      const pieces: Buffer[] = [];
      request.on('data', (piece: Buffer) => pieces.push(piece));
      request.on('end', () => {
        supplier.requests.push(JSON.parse(Buffer.concat(pieces).toString()) as Record<string, unknown>);
        const { answer } = supplier;
        const isStream = typeof answer === 'string';
        response.setHeader('content-type', isStream ? 'text/event-stream' : 'application/json');
        response.end(isStream ? answer : JSON.stringify(answer));
      });
    });
    return supplier;
  }

  stop(): Promise<void> {
    return new Promise((resolve) => {
      this.server.close(() => resolve());
      this.server.closeAllConnections();
    });
  }
}

/** Formats events as a supplier streams them. */
export const events = (...list: readonly object[]): string =>
  list
    .map((event) => {
      const name = 'type' in event ? `event: ${String(event.type)}\n` : '';
      return `${name}data: ${JSON.stringify(event)}\n\n`;
    })
    .join('');
