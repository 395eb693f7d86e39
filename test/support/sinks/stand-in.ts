import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';

/** Error response of a vendor. */
export class VendorRefusal extends Error {
  constructor(
    readonly status: number,
    readonly body: object,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(JSON.stringify(body));
  }
}

export interface VendorRequest {
  readonly headers: IncomingHttpHeaders;
  /** Uncompressed. */
  readonly text: string;
  readonly json: unknown;
}

/** Validates a request as the vendor does: returns the ids of its records, or throws a refusal. */
export interface Vendor {
  readonly path: string;
  readonly status: number;
  validate(request: VendorRequest, key: string): readonly string[];
  /** Response to a batch of which this many records were rejected. */
  answer(refused: number): object;
}

export type VendorFault =
  | { readonly kind: 'cut-before' | 'cut-after' | 'hang' | 'garbage' }
  | { readonly kind: 'answer'; readonly refusal: VendorRefusal }
  /** Accepts the others and reports the number of rejected records. */
  | { readonly kind: 'partly'; readonly refuses: (id: string) => boolean };

const MAX_RECORDED = 1_000;

/** Server that accepts and rejects records as a vendor does, and fails on demand. */
export class VendorStandIn {
  /** Request ids in the order in which they were stored. */
  readonly stored: string[] = [];
  readonly requests: VendorRequest[] = [];
  key: string;
  /** Records with these ids are rejected as bad data, together with their batch. */
  readonly poison = new Set<string>();
  private faults: VendorFault[] = [];

  private constructor(
    private readonly server: ReturnType<typeof createServer>,
    readonly url: string,
    private readonly vendor: Vendor,
    key: string,
  ) {
    this.key = key;
  }

  static async open(vendor: Vendor, key: string): Promise<VendorStandIn> {
    const server = createServer();
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const standIn = new VendorStandIn(server, url, vendor, key);
    server.on('request', (request, response) => void standIn.take(request, response));
    return standIn;
  }

  fail(fault: VendorFault, times = 1): void {
    for (let count = 0; count < times; count += 1) this.faults.push(fault);
  }

  heal(): void {
    this.faults = [];
    this.poison.clear();
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private async take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = [];
    try {
      for await (const piece of request) pieces.push(piece as Buffer);
    } catch {
      return;
    }
    const fault = this.faults.shift();
    if (fault?.kind === 'hang') return;
    if (fault?.kind === 'cut-before') return void request.socket.destroy();
    if (fault?.kind === 'garbage')
      return void response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html>');
    try {
      if (fault?.kind === 'answer') throw fault.refusal;
      const rejectedCount = this.store(
        request,
        Buffer.concat(pieces),
        fault?.kind === 'partly' ? fault.refuses : () => false,
      );
      if (fault?.kind === 'cut-after') return void request.socket.destroy();
      send(response, this.vendor.status, this.vendor.answer(rejectedCount));
    } catch (error) {
      if (!(error instanceof VendorRefusal)) throw error;
      send(response, error.status, error.body, error.headers);
    }
  }

  private store(request: IncomingMessage, body: Buffer, refuses: (id: string) => boolean): number {
    const { method, url, headers } = request;
    if (url !== this.vendor.path) throw new VendorRefusal(404, { message: 'Not found' });
    if (method !== 'POST') throw new VendorRefusal(405, { message: 'Method not allowed' });
    if (headers['content-type'] !== 'application/json')
      throw new VendorRefusal(415, { message: 'Unsupported media type' });
    if (headers['content-length'] === undefined) throw new VendorRefusal(411, { message: 'Length required' });
    const text = (headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body).toString('utf8');
    const received = { headers, text, json: JSON.parse(text) as unknown };
    if (this.requests.push(received) > MAX_RECORDED) throw new Error('nobody asks so often');
    const ids = this.vendor.validate(received, this.key);
    if (ids.some((id) => this.poison.has(id)))
      throw new VendorRefusal(400, { message: 'one record is malformed' });
    const acceptedIds = ids.filter((id) => !refuses(id));
    this.stored.push(...acceptedIds);
    return ids.length - acceptedIds.length;
  }
}

const send = (
  response: ServerResponse,
  status: number,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): void =>
  void response
    .writeHead(status, { 'content-type': 'application/json', ...headers })
    .end(JSON.stringify(body));
