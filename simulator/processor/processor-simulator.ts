import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ProcessorAccount } from './account';
import type { SentEvent } from './account-store';
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

interface ProcessorRequest {
  readonly call: string;
  readonly id: string;
  readonly encoded: string;
  readonly key: string | null;
}

interface ProcessorResponse {
  readonly status: number;
  readonly answer: object;
}

interface StoredProcessorResponse {
  readonly call: string;
  readonly encoded: string;
  readonly status: number;
  readonly body: object;
}

/** The subset of Stripe's API that the service calls, over HTTP, for the real SDK. */
export class ProcessorSimulator {
  readonly account = new ProcessorAccount();
  /** Every call received, for example `POST /v1/customers`. */
  readonly calls: string[] = [];
  /** Statuses with which the next calls fail. */
  readonly outages: number[] = [];
  /** Number of next calls that are carried out but whose responses are lost. */
  lostResponses = 0;
  /** Callbacks by call name; run after the call was handled. */
  readonly afterCall = new Map<string, () => void>();
  private readonly responsesByKey = new Map<string, StoredProcessorResponse>();

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

  /** Environment variables that make a service use this simulator. */
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
    if (this.lostResponses > 0) {
      this.lostResponses -= 1;
      response.destroy();
      return;
    }
    response.writeHead(status, {
      'content-type': 'application/json',
      'request-id': `req_${this.calls.length}`,
    });
    response.end(JSON.stringify(answer));
  }

  private outcome(request: IncomingMessage, path: string, encoded: string): ProcessorResponse {
    const method = request.method ?? 'GET';
    const call = `${method} ${path.replace(/\/(cs|pi|pm|cus)_\w+/, '/:id')}`;
    this.calls.push(call);
    const outage = this.outages.shift();
    if (outage !== undefined) return errorResponse(outage, { type: 'api_error', message: 'An outage.' });
    if (request.headers.authorization !== `Bearer ${this.key}`) {
      return errorResponse(401, { type: 'invalid_request_error', message: 'Invalid API Key provided.' });
    }
    if (request.headers['stripe-version'] !== apiVersion) {
      return errorResponse(400, { type: 'invalid_request_error', message: `This is version ${apiVersion}.` });
    }
    const id = /\/((?:cs|pi|pm|cus)_\w+)/.exec(path)?.[1] ?? '';
    const key = method === 'POST' ? request.headers['idempotency-key'] : undefined;
    return this.handleCall({ call, id, encoded, key: typeof key === 'string' ? key : null });
  }

  /** An idempotency key keeps the response to its first valid call; a rejected parameter does not use up the key. */
  private handleCall({ call, id, encoded, key }: ProcessorRequest): ProcessorResponse {
    if (key !== null && key.length > MAX_KEY_LENGTH)
      return errorResponse(400, {
        type: 'invalid_request_error',
        message: `A key has at most ${MAX_KEY_LENGTH} characters.`,
      });
    const earlierResponse = key === null ? undefined : this.responsesByKey.get(key);
    if (earlierResponse !== undefined) {
      if (earlierResponse.call === call && earlierResponse.encoded === encoded)
        return { status: earlierResponse.status, answer: earlierResponse.body };
      return errorResponse(400, {
        type: 'idempotency_error',
        message: 'This key belongs to other parameters.',
      });
    }
    let isAccepted = false;
    const result = toResponse(() => {
      const parameters = readParameters(call, encoded);
      requireRules(call, parameters, this.account);
      isAccepted = true;
      const answer = answerTo(this.account, { name: call, id, parameters }, this.url);
      for (const object of objectsIn(answer)) requireShape(String(object['object']), object);
      return answer;
    });
    this.afterCall.get(call)?.();
    if (key !== null && isAccepted) {
      this.responsesByKey.set(key, { call, encoded, status: result.status, body: result.answer });
    }
    return result;
  }
}

const MAX_KEY_LENGTH = 255;

/** Copies the result, so that later changes do not affect a repeated response. */
function toResponse(work: () => object): ProcessorResponse {
  try {
    return { status: 200, answer: structuredClone(work()) };
  } catch (error) {
    if (error instanceof ApiError) return errorResponse(error.status, structuredClone(error.body));
    throw error;
  }
}

const objectsIn = (answer: object): Record<string, unknown>[] =>
  'data' in answer && Array.isArray(answer.data) && 'has_more' in answer
    ? (answer.data as Record<string, unknown>[])
    : [answer as Record<string, unknown>];

const errorResponse = (status: number, error: object): ProcessorResponse => ({
  status,
  answer: { error },
});

/** Signature header of an event. */
export function signatureHeader(
  text: string,
  secret = simulatorSecret,
  atSeconds = Math.floor(Date.now() / 1_000),
): string {
  const digest = createHmac('sha256', secret).update(`${atSeconds}.${text}`).digest('hex');
  return `t=${atSeconds},v1=${digest}`;
}

/** Delivers an event to the service, as the processor would. */
export const deliver = (
  serviceUrl: string,
  { text }: Pick<SentEvent, 'text'>,
  header = signatureHeader(text),
): Promise<Response> =>
  fetch(`${serviceUrl}/api/billing/processor/webhook`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'stripe-signature': header },
    body: text,
    signal: AbortSignal.timeout(20_000),
  });
