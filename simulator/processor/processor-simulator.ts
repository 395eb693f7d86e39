import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ProcessorAccount } from './account';
import type { SentEvent } from './books';
import { apiVersion } from './facts';
import { hostedPage } from './hosted-page';
import { answerTo } from './interface';
import { ApiError, readParameters } from './parameters';
import { requireRules } from './rules';
import { requireShape } from './shapes';

const simulatorKey = 'sk_test_simulator0001';
const simulatorSecret = 'whsec_simulatorsecret0001';

export interface ProcessorOptions {
  readonly port?: number;
  readonly key?: string;
}

interface Asked {
  readonly call: string;
  readonly id: string;
  readonly encoded: string;
  readonly key: string | null;
}

interface Made {
  readonly status: number;
  readonly answer: object;
}

interface Answered {
  readonly call: string;
  readonly encoded: string;
  readonly status: number;
  readonly body: object;
}

/** Stripe's interface as far as we call it, over HTTP, for the real SDK to talk to. */
export class ProcessorSimulator {
  readonly account = new ProcessorAccount();
  /** Every call that arrived, as `POST /v1/customers`. */
  readonly calls: string[] = [];
  /** The next calls fail with these statuses. */
  readonly outages: number[] = [];
  /** So many of the next calls are carried out, and their answers are lost. */
  lostAnswers = 0;
  /** These functions run after a call of their name was answered. */
  readonly afterwards = new Map<string, () => void>();
  private readonly answered = new Map<string, Answered>();

  private constructor(
    readonly url: string,
    private readonly key: string,
    readonly stop: () => Promise<void>,
  ) {}

  static async start({ port = 0, key = simulatorKey }: ProcessorOptions = {}): Promise<ProcessorSimulator> {
    const server = createServer();
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    const stop = async (): Promise<void> => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    };
    const simulator = new ProcessorSimulator(
      `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      key,
      stop,
    );
    server.on('request', (request, response) => {
      simulator.answer(request, response).catch((error: unknown) => {
        process.stderr.write(`the simulated processor failed: ${String(error)}\n`);
        response.writeHead(500).end();
      });
    });
    return simulator;
  }

  /** A service is told this to use it. */
  get environment(): Record<string, string> {
    return {
      PROCESSOR_SECRET_KEY: this.key,
      PROCESSOR_WEBHOOK_SECRET: simulatorSecret,
      PROCESSOR_API_URL: this.url,
    };
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const url = new URL(request.url ?? '/', this.url);
    const body = Buffer.concat(chunks).toString();
    if (url.pathname.startsWith('/c/pay/')) {
      hostedPage(this.account, url, request.method ?? 'GET', body, response);
      return;
    }
    const encoded = request.method === 'POST' ? body : url.search.slice(1);
    const { status, answer } = this.outcome(request, url.pathname, encoded);
    if (this.lostAnswers > 0) {
      this.lostAnswers -= 1;
      response.destroy();
      return;
    }
    response.writeHead(status, {
      'content-type': 'application/json',
      'request-id': `req_${this.calls.length}`,
    });
    response.end(JSON.stringify(answer));
  }

  private outcome(request: IncomingMessage, path: string, encoded: string): Made {
    const method = request.method ?? 'GET';
    const call = `${method} ${path.replace(/\/(cs|pi|pm|cus)_\w+/, '/:id')}`;
    this.calls.push(call);
    const outage = this.outages.shift();
    if (outage !== undefined) return refusal(outage, { type: 'api_error', message: 'An outage.' });
    if (request.headers.authorization !== `Bearer ${this.key}`) {
      return refusal(401, { type: 'invalid_request_error', message: 'Invalid API Key provided.' });
    }
    if (request.headers['stripe-version'] !== apiVersion) {
      return refusal(400, { type: 'invalid_request_error', message: `This is version ${apiVersion}.` });
    }
    const id = /\/((?:cs|pi|pm|cus)_\w+)/.exec(path)?.[1] ?? '';
    const key = method === 'POST' ? request.headers['idempotency-key'] : undefined;
    return this.carriedOut({ call, id, encoded, key: typeof key === 'string' ? key : null });
  }

  /** A key keeps the answer of its first call from when the call was begun: a refused parameter begins none. */
  private carriedOut({ call, id, encoded, key }: Asked): Made {
    if (key !== null && key.length > LONGEST_KEY)
      return refusal(400, {
        type: 'invalid_request_error',
        message: `A key has at most ${LONGEST_KEY} characters.`,
      });
    const before = key === null ? undefined : this.answered.get(key);
    if (before !== undefined) {
      if (before.call === call && before.encoded === encoded)
        return { status: before.status, answer: before.body };
      return refusal(400, { type: 'idempotency_error', message: 'This key belongs to other parameters.' });
    }
    let isBegun = false;
    const made = refusing(() => {
      const given = readParameters(call, encoded);
      requireRules(call, given, this.account);
      isBegun = true;
      const answer = answerTo(this.account, { name: call, id, given }, this.url);
      for (const shown of shownIn(answer)) requireShape(String(shown['object']), shown);
      return answer;
    });
    this.afterwards.get(call)?.();
    if (key !== null && isBegun) {
      this.answered.set(key, { call, encoded, status: made.status, body: made.answer });
    }
    return made;
  }
}

const LONGEST_KEY = 255;

/** As it was when it was made: later changes are not part of a repeated answer. */
function refusing(work: () => object): Made {
  try {
    return { status: 200, answer: structuredClone(work()) };
  } catch (error) {
    if (error instanceof ApiError) return refusal(error.status, structuredClone(error.body));
    throw error;
  }
}

const shownIn = (answer: object): Record<string, unknown>[] =>
  'data' in answer && Array.isArray(answer.data) && 'has_more' in answer
    ? (answer.data as Record<string, unknown>[])
    : [answer as Record<string, unknown>];

const refusal = (status: number, error: object): Made => ({
  status,
  answer: { error },
});

/** The header that comes with an event. */
export function signature(
  text: string,
  secret = simulatorSecret,
  atSeconds = Math.floor(Date.now() / 1_000),
): string {
  const signed = createHmac('sha256', secret).update(`${atSeconds}.${text}`).digest('hex');
  return `t=${atSeconds},v1=${signed}`;
}

/** Brings an event to the service, as the processor would. */
export const deliver = (
  serviceUrl: string,
  { text }: Pick<SentEvent, 'text'>,
  header = signature(text),
): Promise<Response> =>
  fetch(`${serviceUrl}/api/billing/processor/webhook`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'stripe-signature': header },
    body: text,
    signal: AbortSignal.timeout(20_000),
  });
