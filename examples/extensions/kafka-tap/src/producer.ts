import { ask } from './ask';
import { type Message, type Reader, recordBatch, Writer } from './wire';

/** All that the tap asks of Kafka: put a library in place of the class below if you have one. */
export interface Producer {
  /** It is fulfilled once every replica that is in sync has all messages. */
  send(messages: readonly Message[], signal: AbortSignal): Promise<void>;
}

export interface Target {
  /** Each as host:port; any of them tells of the others. */
  readonly brokers: readonly string[];
  readonly topic: string;
  readonly isEncrypted: boolean;
}

const [METADATA, PRODUCE] = [3, 0];
const ALL_IN_SYNC = -1;
const BROKER_TIMEOUT_MS = 8_000;

/** Speaks Metadata 1 and Produce 3, which every broker from 0.11 up to 4 understands. */
export class KafkaProducer implements Producer {
  /** The broker that leads each partition, as host:port; null until it was asked. */
  private leaders: readonly string[] | null = null;

  constructor(private readonly target: Target) {}

  async send(messages: readonly Message[], signal: AbortSignal): Promise<void> {
    try {
      const leaders = (this.leaders ??= await this.findLeaders(signal));
      const byPartition = Map.groupBy(messages, ({ key }) => partitionOf(key, leaders.length));
      const sent = [...byPartition].map(([partition, some]) =>
        this.produce(leaders[partition] ?? '', partition, some, signal),
      );
      await Promise.all(sent);
    } catch (error) {
      // Another broker may lead by now: that is asked anew the next time.
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
        return leadersIn(await ask(broker, isEncrypted, { api: METADATA, version: 1, body }, signal));
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
    const answer = await ask(leader, isEncrypted, { api: PRODUCE, version: 3, body: request.bytes }, signal);
    answer.skip(4);
    answer.text();
    answer.skip(8);
    const code = answer.int16();
    if (code !== 0) throw new Error(`the broker refused partition ${partition} with code ${code}`);
  }
}

/** The same key always has the same partition, as long as the topic keeps their number. */
const partitionOf = (key: string, partitions: number): number =>
  Buffer.from(key).reduce((hash, byte) => (Math.imul(hash, 31) + byte) >>> 0, 0) % partitions;

function leadersIn(answer: Reader): readonly string[] {
  const brokers = new Map<number, string>();
  answer.array(() => {
    brokers.set(answer.int32(), `${answer.text()}:${answer.int32()}`);
    return answer.text();
  });
  answer.skip(4);
  const leaders: string[] = [];
  answer.array(() => {
    const code = answer.int16();
    if (code !== 0) throw new Error(`the broker does not know the topic, with code ${code}`);
    answer.text();
    answer.skip(1);
    answer.array(() => {
      answer.skip(2);
      const [partition, leader] = [answer.int32(), brokers.get(answer.int32())];
      if (leader === undefined) throw new Error(`partition ${partition} has no leader`);
      leaders[partition] = leader;
      for (let list = 0; list < 2; list += 1) answer.array(answer.int32);
    });
  });
  if (leaders.length === 0) throw new Error('the topic has no partitions');
  return leaders;
}
