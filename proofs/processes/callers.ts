import { Agent, type IncomingMessage, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

/** The calls of all callers, by their outcome. */
export interface Tally {
  calls: number;
  /** Answered with 200, by their request ids. */
  readonly answered: string[];
  /** Nobody listened. */
  refused: number;
  /** An answer that is none of ours to give: 503 and its like. */
  unavailable: number;
  /** The connection broke under a call. */
  broken: number;
  /** No answer after all tries of an SDK. */
  lost: number;
}

export const newTally = (): Tally => ({
  calls: 0,
  answered: [],
  refused: 0,
  unavailable: 0,
  broken: 0,
  lost: 0,
});

export interface Target {
  readonly url: string;
  readonly key: string;
}

/** The official SDKs try so often again, with pauses like these. */
const RETRIES = 2;
const RETRY_MS = 500;
const DEADLINE_MS = 20_000;

const BODY = JSON.stringify({ model: 'proof', messages: [{ role: 'user', content: 'Hello' }] });

interface Answer {
  readonly status: number;
  readonly id: string;
}

/** So many callers, each with its next call as soon as it is answered, on kept connections or on new ones. */
export async function callUntil(
  target: Target,
  callers: number,
  isOver: () => boolean,
  { tally = newTally(), keepAlive = true } = {},
): Promise<Tally> {
  // With a bound on its sockets, an agent that keeps none still gives one to a call that waits.
  const agent = new Agent(keepAlive ? { keepAlive, maxSockets: callers } : {});
  const one = async (): Promise<void> => {
    while (!isOver()) await call(target, agent, tally);
  };
  await Promise.all(Array.from({ length: callers }, one));
  agent.destroy();
  return tally;
}

/** As an SDK does it: broken connections and 5xx are tried again. */
async function call(target: Target, agent: Agent, tally: Tally): Promise<void> {
  tally.calls += 1;
  for (let attempt = 0; attempt <= RETRIES; attempt += 1) {
    if (attempt > 0) await delay(RETRY_MS);
    try {
      const { status, id } = await once(target, agent);
      if (status === 200) return void tally.answered.push(id);
      tally.unavailable += 1;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ECONNREFUSED') tally.refused += 1;
      else tally.broken += 1;
    }
  }
  tally.lost += 1;
}

function once({ url, key }: Target, agent: Agent): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(BODY),
    };
    const asked = request(`${url}/v1/chat/completions`, { method: 'POST', agent, headers }, (answer) =>
      answer
        .resume()
        .on('end', () => resolve(told(answer)))
        .on('error', reject),
    );
    asked.setTimeout(DEADLINE_MS, () => asked.destroy(new Error('no answer in time')));
    asked.on('error', reject);
    asked.end(BODY);
  });
}

const told = ({ statusCode = 0, headers }: IncomingMessage): Answer => ({
  status: statusCode,
  id: String(headers['x-request-id']),
});
