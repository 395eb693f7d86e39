import { setTimeout as delay } from 'node:timers/promises';
import { SMTPServer } from 'smtp-server';
import { loadSettings, Logger, Mailer } from '#product/platform';
import { Queue } from '#inside/platform/queue/index';
import { QueueConnection } from '#inside/platform/queue/queue-connection';
import { mixed } from '../catalogue';
import { checkAnswers, checkBooks } from '../checks';
import { Load, tally, times } from '../load';
import { seconds, spread } from '../report';
import type { Drill } from '../drill';

const CALLS_A_SECOND = 20;
const MAILS = 10;
const AWAY_MS = 6_000;
/** The pauses between attempts double; after this outage the next one is at most so far away. */
const DELIVERY_MS = 20_000;
const name = 'Mail server gone';

/** No mail server listens: calls do not notice, and mails wait until one does. */
export const mailServer: Drill = {
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
      const load = new Load([node.endpoint(testbed.key)], mixed).start(CALLS_A_SECOND);
      await delay(1_000);
      const from = performance.now();
      for (let place = 0; place < MAILS; place += 1) {
        await mailer.send({ to: `person${place}@example.com`, subject: 'A subject', text: 'A text' });
      }
      await delay(AWAY_MS);
      const waiting = await stillQueued(queue);
      report.check(`${name}: mails in the queue`, `${MAILS}`, `${waiting}`, waiting === MAILS);
      const backAt = performance.now();
      const { received, took } = await receiveAll(testbed.mailPort, MAILS);
      await load.stop();
      const meanwhile = load.between(from, backAt);
      report.check(
        `${name}: mails delivered once it is back`,
        `${MAILS} within ${seconds(DELIVERY_MS)}`,
        `${received} in ${seconds(took)}`,
        received === MAILS,
      );
      checkAnswers(context, name, meanwhile, []);
      const lost = await checkBooks(context, name, load.served);
      report.row({
        outage: `${name} for ${AWAY_MS / 1_000} s, ${MAILS} mails and ${CALLS_A_SECOND}/s`,
        answers: tally(meanwhile),
        time: spread(times(meanwhile)),
        lost: `${lost}; ${MAILS - received} of ${MAILS} mails`,
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

/** Listens until so many mails have come, or the time is up. */
async function receiveAll(port: number, wanted: number): Promise<{ received: number; took: number }> {
  const startedAt = performance.now();
  let received = 0;
  const all = Promise.withResolvers<void>();
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    onData: (stream, _session, done) => {
      stream.resume().on('end', () => {
        received += 1;
        if (received === wanted) all.resolve();
        done();
      });
    },
  });
  server.listen(port, '127.0.0.1');
  await Promise.race([all.promise, delay(DELIVERY_MS, undefined, { ref: false })]);
  const took = performance.now() - startedAt;
  // The sender keeps its connections for the next mail.
  server.close();
  return { received, took };
}
