import { sendRequest } from './ask';
import { type Message, type Reader, recordBatch, Writer } from './wire';

/** Everything that the tap needs of Kafka: replace the class below with a library if you have one. */
export interface Producer {
  /** Resolves once every in-sync replica has all messages. */
  send(messages: readonly Message[], signal: AbortSignal): Promise<void>;
}

export interface KafkaTarget {
  /** Each as host:port; any of them knows the others. */
  readonly brokers: readonly string[];
  readonly topic: string;
  readonly isEncrypted: boolean;
}

const [METADATA, PRODUCE] = [3, 0];
const ALL_IN_SYNC = -1;
const BROKER_TIMEOUT_MS = 8_000;

/** Uses Metadata 1 and Produce 3, which every broker from 0.11 to 4 supports. */
export class KafkaProducer implements Producer {
  /** Leader of each partition, as host:port; null until it is known. */
  private leaders: readonly string[] | null = null;

  constructor(private readonly target: KafkaTarget) {}

  async send(messages: readonly Message[], signal: AbortSignal): Promise<void> {
    try {
      const leaders = (this.leaders ??= await this.findLeaders(signal));
      const byPartition = Map.groupBy(messages, ({ key }) => partitionOf(key, leaders.length));
      const sent = [...byPartition].map(([partition, some]) =>
        this.produce(leaders[partition] ?? '', partition, some, signal),
      );
      await Promise.all(sent);
    } catch (error) {
      // Another broker might lead by now; the leaders are queried again next time.
      this.leaders = null;
      throw error;
    }
  }

  private async findLeaders(signal: AbortSignal): Promise<readonly string[]> {
    const { brokers, topic, isEncrypted } = this.target;
    const body = new Writer().int32(1).text(topic).bytes;
    let failure: unknown;
    for (const broker of brokers) {
      try {
        return readLeaders(
          await sendRequest(broker, isEncrypted, { api: METADATA, version: 1, body }, signal),
        );
      } catch (error) {
        failure = error;
      }
    }
    throw new Error(`no broker told who leads ${topic}: ${String(failure)}`);
  }

  private async produce(leader: string, partition: number, messages: Message[], signal: AbortSignal) {
    const { topic, isEncrypted } = this.target;
    const request = new Writer().int16(-1).int16(ALL_IN_SYNC).int32(BROKER_TIMEOUT_MS);
    request.int32(1).text(topic).int32(1).int32(partition).buffer(recordBatch(messages));
    const response = await sendRequest(
      leader,
      isEncrypted,
      { api: PRODUCE, version: 3, body: request.bytes },
      signal,
    );
    response.skip(4);
    response.text();
    response.skip(8);
    const code = response.int16();
    if (code !== 0) throw new Error(`the broker refused partition ${partition} with code ${code}`);
  }
}

/** A key always has the same partition, as long as the topic keeps their number. */
const partitionOf = (key: string, partitions: number): number =>
  Buffer.from(key).reduce((hash, byte) => (Math.imul(hash, 31) + byte) >>> 0, 0) % partitions;

function readLeaders(response: Reader): readonly string[] {
  const brokers = new Map<number, string>();
  response.array(() => {
    brokers.set(response.int32(), `${response.text()}:${response.int32()}`);
    return response.text();
  });
  response.skip(4);
  const leaders: string[] = [];
  response.array(() => {
    const code = response.int16();
    if (code !== 0) throw new Error(`the broker does not know the topic, with code ${code}`);
    response.text();
    response.skip(1);
    response.array(() => {
      response.skip(2);
      const [partition, leader] = [response.int32(), brokers.get(response.int32())];
      if (leader === undefined) throw new Error(`partition ${partition} has no leader`);
      leaders[partition] = leader;
      for (let list = 0; list < 2; list += 1) response.array(response.int32);
    });
  });
  if (leaders.length === 0) throw new Error('the topic has no partitions');
  return leaders;
}
