import { defineExtension, type SettledRecord, type StandardSchema, type Tap } from '@switchboard/extension';
import { KafkaProducer, type Producer, type KafkaTarget } from './producer';

/*
 * A tap in four steps:
 *
 * 1. The settings say where the records go. The host reads EXT_KAFKA_TAP_BROKERS, EXT_KAFKA_TAP_TOPIC and
 *    EXT_KAFKA_TAP_TLS, and shows every fault at the start.
 * 2. setup() makes the tap. It opens no connection: the broker may be down when the service starts.
 * 3. deliver() gets a batch of records. When its promise is fulfilled, the host moves on; when it is rejected, the
 *    host waits and gives the same records again. So it is fulfilled only after the broker has them all.
 * 4. A record may come twice, for example when a node is killed in between. Its request_id tells.
 */

/** Any Standard Schema works, such as one of Zod. This one needs no package. */
const settings: StandardSchema<KafkaTarget> = {
  '~standard': {
    version: 1,
    vendor: 'kafka-tap',
    validate(given) {
      const { brokers = '', topic = '', tls = 'false' } = given as Record<string, string | undefined>;
      const issues = [
        ...(/^[^\s,:]+:\d+(,[^\s,:]+:\d+)*$/.test(brokers)
          ? []
          : [{ message: 'expected host:port, with commas between several', path: ['brokers'] }]),
        ...(/^[\w.-]{1,249}$/.test(topic)
          ? []
          : [{ message: 'expected the name of a topic', path: ['topic'] }]),
        ...(['true', 'false'].includes(tls) ? [] : [{ message: 'expected true | false', path: ['tls'] }]),
      ];
      if (issues.length > 0) return { issues };
      return { value: { brokers: brokers.split(','), topic, isEncrypted: tls === 'true' } };
    },
  },
};

/** Records of one API key share a partition, and so keep their order. */
const messageOf = (record: SettledRecord) => ({
  key: String(record.key_id ?? ''),
  value: JSON.stringify(record),
  at: Date.parse(record.created_at),
});

const kafkaTap = (producer: Producer): Tap => ({
  name: 'requests',
  batchSize: 500,
  timeoutMs: 10_000,
  deliver: (records, signal) => producer.send(records.map(messageOf), signal),
});

export default defineExtension({
  id: 'kafka-tap',
  version: '1.0.0',
  host: '^1',
  settings,
  setup: ({ settings: target, log }) => {
    log.info('settled requests go to Kafka', { topic: target.topic });
    return { taps: [kafkaTap(new KafkaProducer(target))] };
  },
});
