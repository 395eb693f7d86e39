import { request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { plain } from '../catalogue';
import { checkAnswers, checkBooks } from '../checks';
import { hostileBodies, type HostileBody } from '../hostile-bodies';
import { type Endpoint, Load } from '../load';
import { Prober } from '../probe-thread';
import { milliseconds, percentile } from '../report';
import type { Drill } from '../drill';

const CALLS_A_SECOND = 20;
const LAG_MS = 100;
const ROUNDS = 4;
/** Before and after, so that nothing of the rounds mixes. */
const PAUSE_MS = 60;
const name = 'A hostile body';

/** Bodies made to keep the event loop busy, and the time that other callers wait meanwhile. */
export const hostileBody: Drill = {
  name: 'hostile-body',
  alerts: ['RequestsMalformed'],
  async run(context) {
    const { testbed, report } = context;
    const node = testbed.shared;
    const endpoint = node.endpoint(testbed.key);
    const load = new Load([endpoint], (place) => plain('chatty', place)).start(CALLS_A_SECOND);
    const prober = Prober.start(node.url);
    await delay(1_500);
    let worst = { lag: 0, body: '' };
    const answers = new Map<string, number>();
    for (const make of hostileBodies) {
      const body = make();
      const lags: number[] = [];
      let answer = '';
      // The smallest of several is what the body costs; the rest is what else the machine did.
      for (let round = 0; round < ROUNDS && (lags.at(-1) ?? LAG_MS) >= LAG_MS; round += 1) {
        const tried = await tryBody(prober, endpoint, body);
        lags.push(tried.lag);
        answer = tried.answer;
      }
      const lag = Math.min(...lags);
      if (lag > worst.lag) worst = { lag, body: body.name };
      answers.set(answer, (answers.get(answer) ?? 0) + 1);
      report.check(
        `${name}: ${body.name}`,
        `others wait < ${milliseconds(LAG_MS)}`,
        `${milliseconds(lag)}; ${answer}`,
        lag < LAG_MS,
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

interface Tried {
  readonly lag: number;
  readonly answer: string;
}

/** Sends the body while another caller asks, again and again, whether the process is alive. */
async function tryBody(prober: Prober, endpoint: Endpoint, body: HostileBody): Promise<Tried> {
  await prober.look();
  await delay(PAUSE_MS);
  const usual = percentile(await prober.look(), 0.5);
  const answer = await send(endpoint, body);
  await delay(PAUSE_MS);
  return { lag: Math.max(0, percentile(await prober.look(), 1) - usual), answer };
}

function send({ url, key }: Endpoint, { path, contentType, bytes }: HostileBody): Promise<string> {
  return new Promise((resolve) => {
    const headers = {
      authorization: `Bearer ${key}`,
      'content-type': contentType,
      'content-length': bytes.length,
    };
    const sent = request(url + path, { method: 'POST', headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', () => undefined);
      response.on('close', () => {
        const code = /"code":\s*"(\w+)"/.exec(Buffer.concat(chunks).toString('latin1'))?.[1];
        resolve(`${response.statusCode}${code === undefined ? '' : ` ${code}`}`);
      });
    });
    sent.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    sent.end(bytes);
  });
}
