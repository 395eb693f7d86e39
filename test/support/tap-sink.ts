import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { SettledRecord } from '#extension';

export interface TapBatch {
  readonly records: readonly SettledRecord[];
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

interface TapResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Response to a batch: a status, a status with headers, or a promise of a status. */
export type TapBehaviour = (batch: TapBatch, batchNumber: number) => number | TapResponse | Promise<number>;

/** Server that receives the records of a tap. Stores accepted records and every batch received. */
export class TapSink {
  readonly accepted: SettledRecord[] = [];
  readonly batches: TapBatch[] = [];
  behaviour: TapBehaviour = () => 200;

  private constructor(
    private readonly server: ReturnType<typeof createServer>,
    readonly url: string,
  ) {}

  static async open(): Promise<TapSink> {
    const server = createServer();
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const sink = new TapSink(server, `http://127.0.0.1:${(server.address() as AddressInfo).port}/records`);
    server.on('request', (request, response) => void sink.answer(request, response));
    return sink;
  }

  get ids(): string[] {
    return this.accepted.map((record) => record.request_id);
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const body = Buffer.concat(pieces).toString('utf8');
    const { records } = JSON.parse(body) as { records: SettledRecord[] };
    const batch = { records, headers: request.headers, body };
    this.batches.push(batch);
    const answer = await this.behaviour(batch, this.batches.length);
    const {
      status,
      headers,
      body: responseBody = '{}',
    } = typeof answer === 'number' ? { status: answer, headers: {} } : answer;
    if (status < 300) this.accepted.push(...records);
    response.writeHead(status, headers).end(responseBody);
  }
}
