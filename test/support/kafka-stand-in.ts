import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';

export interface StoredMessage {
  readonly partition: number;
  readonly key: string;
  readonly value: string;
  readonly at: number;
}

/** Broker's behaviour when a batch is valid. */
export type BrokerBehaviour = 'acknowledge' | 'refuse' | 'store and vanish';

const NOT_LEADER = 6;
const CORRUPT_MESSAGE = 2;
const UNKNOWN_TOPIC = 3;

/**
 * Kafka broker with one topic that rejects a batch with a wrong checksum, length or count, as a real broker does.
 * Parses independently and shares no code with the product's writer.
 */
export class KafkaStandIn {
  readonly stored: StoredMessage[] = [];
  readonly faults: string[] = [];
  behaviour: (requestNumber: number) => BrokerBehaviour = () => 'acknowledge';
  private requestCount = 0;
  private server: Server | null = null;
  private readonly sockets = new Set<Socket>();
  private port = 0;

  constructor(
    readonly topic: string,
    private readonly partitions: number,
  ) {}

  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  async start(): Promise<void> {
    const server = createServer((socket) => this.serve(socket));
    await once(server.listen(this.port, '127.0.0.1'), 'listening');
    this.port = (server.address() as AddressInfo).port;
    this.server = server;
  }

  async stop(): Promise<void> {
    const { server } = this;
    if (server === null) return;
    this.server = null;
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  }

  private serve(socket: Socket): void {
    this.sockets.add(socket);
    socket.on('close', () => this.sockets.delete(socket)).on('error', () => undefined);
    let received = Buffer.alloc(0);
    socket.on('data', (piece) => {
      received = Buffer.concat([received, piece]);
      while (received.length >= 4 && received.length >= 4 + received.readInt32BE(0)) {
        const size = received.readInt32BE(0);
        this.answer(socket, new KafkaReader(received.subarray(4, 4 + size)));
        received = received.subarray(4 + size);
      }
    });
  }

  private answer(socket: Socket, input: KafkaReader): void {
    const [api, version, id] = [input.int(2), input.int(2), input.int(4)];
    input.text();
    let body: Buffer | null;
    if (api === 3 && version === 1) body = this.metadata(input);
    else if (api === 0 && version === 3) body = this.produce(input);
    else throw new Error(`the stand-in knows no request ${api} of version ${version}`);
    if (body === null) return void socket.destroy();
    if (!input.isAtEnd) this.faults.push(`request ${api} is longer than its fields`);
    const head = Buffer.alloc(8);
    head.writeInt32BE(body.length + 4, 0);
    head.writeInt32BE(id, 4);
    // Sent in two pieces, as a network may deliver it.
    const answer = Buffer.concat([head, body]);
    socket.write(answer.subarray(0, 5));
    setImmediate(() => socket.write(answer.subarray(5)));
  }

  private metadata(input: KafkaReader): Buffer {
    if (input.int(4) !== 1 || input.text() !== this.topic) this.faults.push('another topic was asked for');
    const partition = (number: number): Buffer[] => [
      int(2, 0),
      int(4, number),
      int(4, 7),
      int(4, 1),
      int(4, 7),
      int(4, 1),
      int(4, 7),
    ];
    return Buffer.concat([
      ...[int(4, 1), int(4, 7), text('127.0.0.1'), int(4, this.port), int(2, -1), int(4, 7)],
      ...[int(4, 1), int(2, 0), text(this.topic), int(1, 0), int(4, this.partitions)],
      ...Array.from({ length: this.partitions }, (_, number) => partition(number)).flat(),
    ]);
  }

  /** Returns null if the connection breaks instead. */
  private produce(input: KafkaReader): Buffer | null {
    if (input.int(2) !== -1) this.faults.push('a transaction was named');
    if (input.int(2) !== -1) this.faults.push('not all replicas are waited for');
    input.int(4);
    const responses: Buffer[] = [];
    const topics = input.int(4);
    if (topics !== 1) this.faults.push('not one topic');
    const name = input.text();
    const partitions = input.int(4);
    let shouldVanish = false;
    for (let count = 0; count < partitions; count += 1) {
      const partition = input.int(4);
      const bytes = input.bytes(input.int(4));
      const behaviour = this.behaviour((this.requestCount += 1));
      const code = name === this.topic ? this.take(partition, bytes, behaviour) : UNKNOWN_TOPIC;
      shouldVanish ||= behaviour === 'store and vanish';
      responses.push(int(4, partition), int(2, code), Buffer.alloc(16));
    }
    if (shouldVanish) return null;
    return Buffer.concat([int(4, 1), text(name), int(4, partitions), ...responses, int(4, 0)]);
  }

  private take(partition: number, bytes: Buffer, behaviour: BrokerBehaviour): number {
    if (behaviour === 'refuse') return NOT_LEADER;
    try {
      this.stored.push(...readMessages(bytes).map((message) => ({ partition, ...message })));
      return 0;
    } catch (error) {
      this.faults.push((error as Error).message);
      return CORRUPT_MESSAGE;
    }
  }
}

function readMessages(bytes: Buffer): Omit<StoredMessage, 'partition'>[] {
  const batch = new KafkaReader(bytes);
  const check = (isValid: boolean, what: string): void => {
    if (!isValid) throw new Error(`the ${what} of a batch is wrong`);
  };
  check(batch.long() === 0n, 'base offset');
  check(batch.int(4) === bytes.length - 12, 'length');
  batch.int(4);
  check(batch.int(1) === 2, 'magic number');
  check(batch.int(4) >>> 0 === crc32c(bytes.subarray(21)), 'checksum');
  check(batch.int(2) === 0, 'attribute');
  const lastOffset = batch.int(4);
  const [first, last] = [Number(batch.long()), Number(batch.long())];
  check(batch.long() === -1n && batch.int(2) === -1 && batch.int(4) === -1, 'producer');
  const count = batch.int(4);
  check(lastOffset === count - 1, 'last offset');
  const messages = Array.from({ length: count }, (_, place) => {
    const record = new KafkaReader(batch.bytes(batch.varint()));
    record.int(1);
    const at = first + record.varint();
    check(record.varint() === place, 'offset');
    const key = record.bytes(record.varint()).toString('utf8');
    const value = record.bytes(record.varint()).toString('utf8');
    check(record.varint() === 0 && record.isAtEnd, 'end of a record');
    return { key, value, at };
  });
  check(batch.isAtEnd, 'end');
  check(last === Math.max(...messages.map(({ at }) => at)), 'latest time');
  return messages;
}

/** Computes CRC-32C bit by bit. */
function crc32c(bytes: Buffer): number {
  let crc = 0xffffffff;
  for (const byte of bytes)
    for (let bit = 0; bit < 8; bit += 1) {
      const isOne = ((crc ^ (byte >>> bit)) & 1) === 1;
      crc = isOne ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
    }
  return (crc ^ 0xffffffff) >>> 0;
}

class KafkaReader {
  private at = 0;

  constructor(private readonly content: Buffer) {}

  get isAtEnd(): boolean {
    return this.at === this.content.length;
  }

  bytes(size: number): Buffer {
    if (size < 0 || this.at + size > this.content.length) throw new Error('the length of a field is wrong');
    this.at += size;
    return this.content.subarray(this.at - size, this.at);
  }

  int = (size: 1 | 2 | 4): number => this.bytes(size).readIntBE(0, size);
  long = (): bigint => this.bytes(8).readBigInt64BE();
  text = (): string => this.bytes(this.int(2)).toString('utf8');

  varint(): number {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = this.bytes(1).readUInt8();
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return Number((value >> 1n) ^ -(value & 1n));
    }
  }
}

function int(size: 1 | 2 | 4, value: number): Buffer {
  const buffer = Buffer.alloc(size);
  buffer.writeIntBE(value, 0, size);
  return buffer;
}

const text = (value: string): Buffer => Buffer.concat([int(2, Buffer.byteLength(value)), Buffer.from(value)]);
