import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { AuditedExchange } from '../audit/vendor-rules';
import type { BilledVendor } from './answers';
import type { ComponentCase } from './cases';

const vendors: readonly (readonly [RegExp, BilledVendor])[] = [
  [/\/chat\/completions$/, 'chat'],
  [/\/responses$/, 'responses'],
  [/\/messages$/, 'messages'],
  [/generateContent/i, 'gemini'],
];

/** All suppliers at one address: the path identifies the supplier, the mark in the request the call. */
export class SimulatedSupplier {
  /** Exchanges as sent over the network. */
  readonly exchanges: AuditedExchange[] = [];

  private constructor(
    private readonly server: Server,
    private readonly cases: ReadonlyMap<number, ComponentCase>,
  ) {}

  static async start(cases: readonly ComponentCase[]): Promise<SimulatedSupplier> {
    const server = createServer();
    const supplier = new SimulatedSupplier(server, new Map(cases.map((one) => [one.number, one])));
    server.on('request', (request, response) => {
      const pieces: Buffer[] = [];
      request.on('data', (piece: Buffer) => pieces.push(piece));
      request.on('end', () => {
        const { status, type, body } = supplier.reply(request.url ?? '', Buffer.concat(pieces).toString());
        response.writeHead(status, { 'content-type': type });
        response.end(body);
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return supplier;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.server.close();
    this.server.closeAllConnections();
  }

  private reply(url: string, request: string): { status: number; type: string; body: string | Buffer } {
    const [, provider = ''] = url.split('/');
    const path = url.replace(/\?.*/, '');
    const requestedCase = this.cases.get(Number(/call-(\d{7})/.exec(request)?.[1]));
    const json = 'application/json';
    if (requestedCase === undefined)
      return { status: 404, type: json, body: '{"error":{"message":"unknown"}}' };
    if (requestedCase.failing.includes(provider)) {
      return { status: 500, type: json, body: '{"error":{"type":"server_error","message":"out of order"}}' };
    }
    const vendor = vendors.find(([pattern]) => pattern.test(path))?.[1] ?? null;
    const stream = path.includes('streamGenerate') || /"stream":\s*true/.test(request);
    const body = requestedCase.answer(vendor, stream);
    this.exchanges.push({ number: requestedCase.number, provider, path, request, answer: body.toString() });
    const isAudio = path.endsWith('/speech');
    return { status: 200, type: isAudio ? 'audio/mpeg' : stream ? 'text/event-stream' : json, body };
  }
}
