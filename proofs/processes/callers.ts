import { Agent, type IncomingMessage, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

/** Calls of all clients by outcome. */
export interface CallTally {
  calls: number;
  /** Request ids of responses with status 200. */
  readonly answeredIds: string[];
  /** Connection refused. */
  refusedCount: number;
  /** Responses with 503 or a similar status. */
  unavailable: number;
  /** Connections broken during a call. */
  brokenCount: number;
  /** Calls without a response after all retries of an SDK. */
  lostCount: number;
}

export const newTally = (): CallTally => ({
  calls: 0,
  answeredIds: [],
  refusedCount: 0,
  unavailable: 0,
  brokenCount: 0,
  lostCount: 0,
});

export interface CallerTarget {
  readonly url: string;
  readonly key: string;
}

/** Retries as in the official SDKs, with similar delays. */
const RETRIES = 2;
const RETRY_MS = 500;
const DEADLINE_MS = 20_000;

const BODY = JSON.stringify({ model: 'proof', messages: [{ role: 'user', content: 'Hello' }] });

interface CallResponse {
  readonly status: number;
  readonly id: string;
}

/** Runs this many clients, each sending its next call after the previous response, on kept-alive or new connections. */
export async function callUntil(
  target: CallerTarget,
  callers: number,
  isOver: () => boolean,
  { tally = newTally(), keepAlive = true } = {},
): Promise<CallTally> {
  // With a socket limit, even an agent without keep-alive assigns a socket to a waiting call.
  const agent = new Agent(keepAlive ? { keepAlive, maxSockets: callers } : {});
  const runCaller = async (): Promise<void> => {
    while (!isOver()) await call(target, agent, tally);
  };
  await Promise.all(Array.from({ length: callers }, runCaller));
  agent.destroy();
  return tally;
}

/** Retries broken connections and 5xx responses like an SDK. */
async function call(target: CallerTarget, agent: Agent, tally: CallTally): Promise<void> {
  tally.calls += 1;
  for (let attempt = 0; attempt <= RETRIES; attempt += 1) {
    if (attempt > 0) await delay(RETRY_MS);
    try {
      const { status, id } = await callOnce(target, agent);
      if (status === 200) return void tally.answeredIds.push(id);
      tally.unavailable += 1;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ECONNREFUSED') tally.refusedCount += 1;
      else tally.brokenCount += 1;
    }
  }
  tally.lostCount += 1;
}

function callOnce({ url, key }: CallerTarget, agent: Agent): Promise<CallResponse> {
  return new Promise((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(BODY),
    };
    const clientRequest = request(
      `${url}/v1/chat/completions`,
      { method: 'POST', agent, headers },
      (answer) =>
        answer
          .resume()
          .on('end', () => resolve(responseOf(answer)))
          .on('error', reject),
    );
    clientRequest.setTimeout(DEADLINE_MS, () => clientRequest.destroy(new Error('no answer in time')));
    clientRequest.on('error', reject);
    clientRequest.end(BODY);
  });
}

const responseOf = ({ statusCode = 0, headers }: IncomingMessage): CallResponse => ({
  status: statusCode,
  id: String(headers['x-request-id']),
});
