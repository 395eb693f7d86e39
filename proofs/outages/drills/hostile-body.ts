import { request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { plainShot } from '../catalogue';
import { checkAnswers, checkBooks } from '../checks';
import { hostileBodies, type HostileBody } from '../hostile-bodies';
import { type Endpoint, Load } from '../load';
import { Prober } from '../probe-thread';
import { milliseconds, percentile } from '../report';
import type { OutageDrill } from '../drill';

const CALLS_PER_SECOND = 20;
const MAX_LAG_MS = 100;
const ROUNDS = 4;
/** Pause before and after, so that rounds do not overlap. */
const PAUSE_MS = 60;
const name = 'A hostile body';

/** Measures how long other callers wait while bodies try to block the event loop. */
export const hostileBody: OutageDrill = {
  name: 'hostile-body',
  alerts: ['RequestsMalformed'],
  async run(context) {
    const { testbed, report } = context;
    const node = testbed.shared;
    const endpoint = node.endpoint(testbed.key);
    const load = new Load([endpoint], (index) => plainShot('chatty', index)).start(CALLS_PER_SECOND);
    const prober = Prober.start(node.url);
    await delay(1_500);
    let worst = { lag: 0, body: '' };
    const answers = new Map<string, number>();
    for (const make of hostileBodies) {
      const body = make();
      const lags: number[] = [];
      let answer = '';
      // The minimum of several rounds is the cost of the body; the remainder is other load.
      for (let round = 0; round < ROUNDS && (lags.at(-1) ?? MAX_LAG_MS) >= MAX_LAG_MS; round += 1) {
        const outcome = await tryBody(prober, endpoint, body);
        lags.push(outcome.lag);
        answer = outcome.answer;
      }
      const lag = Math.min(...lags);
      if (lag > worst.lag) worst = { lag, body: body.name };
      answers.set(answer, (answers.get(answer) ?? 0) + 1);
      report.check(
        `${name}: ${body.name}`,
        `others wait < ${milliseconds(MAX_LAG_MS)}`,
        `${milliseconds(lag)}; ${answer}`,
        lag < MAX_LAG_MS,
      );
    }
    await prober.stop();
    await load.stop();
    checkAnswers(context, `${name}: other callers`, load.seen, []);
    const lost = await checkBooks(context, name, load.served);
    report.row({
      outage: `${hostileBodies.length} hostile bodies, the worst: ${worst.body}`,
      answers: [...answers].map(([answer, count]) => `${count} × ${answer}`).join(', '),
      time: `others wait ${milliseconds(worst.lag)} at most for the event loop`,
      lost,
      recovery: 'none needed',
    });
  },
};

interface HostileBodyOutcome {
  readonly lag: number;
  readonly answer: string;
}

/** Sends the body while another caller polls the liveness probe. */
async function tryBody(prober: Prober, endpoint: Endpoint, body: HostileBody): Promise<HostileBodyOutcome> {
  await prober.takeTimes();
  await delay(PAUSE_MS);
  const baseline = percentile(await prober.takeTimes(), 0.5);
  const answer = await send(endpoint, body);
  await delay(PAUSE_MS);
  return { lag: Math.max(0, percentile(await prober.takeTimes(), 1) - baseline), answer };
}

function send({ url, key }: Endpoint, { path, contentType, bytes }: HostileBody): Promise<string> {
  return new Promise((resolve) => {
    const headers = {
      authorization: `Bearer ${key}`,
      'content-type': contentType,
      'content-length': bytes.length,
    };
    const upload = request(url + path, { method: 'POST', headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', () => undefined);
      response.on('close', () => {
        const code = /"code":\s*"(\w+)"/.exec(Buffer.concat(chunks).toString('latin1'))?.[1];
        resolve(`${response.statusCode}${code === undefined ? '' : ` ${code}`}`);
      });
    });
    upload.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    upload.end(bytes);
  });
}
