import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';

/** TXT records of a name, or the server's behaviour: NXDOMAIN, SERVFAIL or no response. */
export type TxtResult = readonly string[] | 'absent' | 'failing' | 'silent';

const TXT = 16;
const HEAD_BYTES = 12;
const responseCodes = { absent: 3, failing: 2 } as const;

/** DNS server on loopback (RFC 1035) that responds to TXT queries. */
export class DnsStandIn {
  readonly queries: string[] = [];
  private readonly names = new Map<string, TxtResult>();

  private constructor(private readonly socket: Socket) {
    socket.on('message', (message, { address, port }) => {
      const answer = this.createResponse(message);
      if (answer !== null) socket.send(answer, port, address);
    });
  }

  static async start(): Promise<DnsStandIn> {
    const socket = createSocket('udp4');
    socket.bind(0, '127.0.0.1');
    await once(socket, 'listening');
    return new DnsStandIn(socket);
  }

  get address(): string {
    return `127.0.0.1:${this.socket.address().port}`;
  }

  setResult(name: string, result: TxtResult): void {
    this.names.set(name, result);
  }

  async close(): Promise<void> {
    this.socket.close();
    await once(this.socket, 'close');
  }

  private createResponse(message: Buffer): Buffer | null {
    const labels: string[] = [];
    let at = HEAD_BYTES;
    for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
      labels.push(message.toString('latin1', at + 1, at + 1 + length));
      at += 1 + length;
    }
    const question = message.subarray(HEAD_BYTES, at + 5);
    const name = labels.join('.').toLowerCase();
    this.queries.push(name);
    const result = message.readUInt16BE(at + 1) === TXT ? (this.names.get(name) ?? 'absent') : 'absent';
    if (result === 'silent') return null;
    const records = typeof result === 'string' ? [] : result.map(encodeTxtRecord);
    const head = Buffer.alloc(HEAD_BYTES);
    message.copy(head, 0, 0, 2);
    head.writeUInt16BE(0x8580 | (typeof result === 'string' ? responseCodes[result] : 0), 2);
    head.writeUInt16BE(1, 4);
    head.writeUInt16BE(records.length, 6);
    return Buffer.concat([head, question, ...records]);
  }
}

/** Encodes a TXT record for the queried name, in strings of at most 255 bytes. */
function encodeTxtRecord(text: string): Buffer {
  const bytes = Buffer.from(text);
  const pieces: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += 255) {
    const piece = bytes.subarray(at, at + 255);
    pieces.push(Buffer.from([piece.length]), piece);
  }
  const data = Buffer.concat(pieces);
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt16BE(0xc00c, 0);
  head.writeUInt16BE(TXT, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt32BE(0, 6);
  head.writeUInt16BE(data.length, 10);
  return Buffer.concat([head, data]);
}
