import { setTimeout as delay } from 'node:timers/promises';
import { SMTPServer } from 'smtp-server';
import { loadSettings, Logger, Mailer } from '#product/platform';
import { Queue } from '#inside/platform/queue/index';
import { QueueConnection } from '#inside/platform/queue/queue-connection';
import { mixedShot } from '../catalogue';
import { checkAnswers, checkBooks } from '../checks';
import { Load, tally, times } from '../load';
import { seconds, spread } from '../report';
import type { OutageDrill } from '../drill';

const CALLS_PER_SECOND = 20;
const MAIL_COUNT = 10;
const OUTAGE_MS = 6_000;
/** Maximum delay of the next attempt after this outage; the back-off doubles each time. */
const MAX_DELIVERY_MS = 20_000;
const name = 'Mail server gone';

/** No mail server listens: calls are unaffected, and emails wait in the queue. */
export const mailServer: OutageDrill = {
  name: 'mail-server',
  alerts: ['MailsWait'],
  async run(context) {
    const { testbed, report } = context;
    const node = testbed.shared;
    const settings = loadSettings({ NODE_ENV: 'test', DATA_FOLDER: node.dataFolder });
    const logger = Logger.create(settings, { write: () => undefined });
    const { connection, close } = QueueConnection.toPostgres(testbed.postgres.url, 3, logger);
    const queue = new Queue('mail', { connection });
    try {
      const mailer = new Mailer(queue);
      const load = new Load([node.endpoint(testbed.key)], mixedShot).start(CALLS_PER_SECOND);
      await delay(1_000);
      const downAt = performance.now();
      for (let index = 0; index < MAIL_COUNT; index += 1) {
        await mailer.send({ to: `person${index}@example.com`, subject: 'A subject', text: 'A text' });
      }
      await delay(OUTAGE_MS);
      const waiting = await stillQueued(queue);
      report.check(`${name}: mails in the queue`, `${MAIL_COUNT}`, `${waiting}`, waiting === MAIL_COUNT);
      const upAt = performance.now();
      const { received, took } = await receiveAll(testbed.mailPort, MAIL_COUNT);
      await load.stop();
      const duringOutage = load.between(downAt, upAt);
      report.check(
        `${name}: mails delivered once it is back`,
        `${MAIL_COUNT} within ${seconds(MAX_DELIVERY_MS)}`,
        `${received} in ${seconds(took)}`,
        received === MAIL_COUNT,
      );
      checkAnswers(context, name, duringOutage, []);
      const lost = await checkBooks(context, name, load.served);
      report.row({
        outage: `${name} for ${OUTAGE_MS / 1_000} s, ${MAIL_COUNT} mails and ${CALLS_PER_SECOND}/s`,
        answers: tally(duringOutage),
        time: spread(times(duringOutage)),
        lost: `${lost}; ${MAIL_COUNT - received} of ${MAIL_COUNT} mails`,
        recovery: `${seconds(took)} to the last mail`,
      });
    } finally {
      await queue.close();
      await close();
    }
  },
};

async function stillQueued(queue: Queue): Promise<number> {
  const counts = await queue.getJobCounts('waiting', 'delayed', 'active');
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

/** Listens until this many emails have arrived or the deadline has passed. */
async function receiveAll(port: number, expectedCount: number): Promise<{ received: number; took: number }> {
  const startedAt = performance.now();
  let received = 0;
  const all = Promise.withResolvers<void>();
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    onData: (stream, _session, complete) => {
      stream.resume().on('end', () => {
        received += 1;
        if (received === expectedCount) all.resolve();
        complete();
      });
    },
  });
  server.listen(port, '127.0.0.1');
  await Promise.race([all.promise, delay(MAX_DELIVERY_MS, undefined, { ref: false })]);
  const took = performance.now() - startedAt;
  // The sender keeps its connections open for the next email.
  server.close();
  return { received, took };
}
