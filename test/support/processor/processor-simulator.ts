import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ProcessorAccount, type SentEvent, type Stored } from './account';
import { hostedPage } from './hosted-page';
import { ApiError, type Parameters, readParameters } from './parameters';

const simulatorKey = 'sk_test_simulator0001';
const simulatorSecret = 'whsec_simulatorsecret0001';

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
  /** What happens after a call of this name was answered. */
  readonly afterwards = new Map<string, () => void>();
  private readonly answered = new Map<string, Answered>();

  private constructor(
    readonly url: string,
    readonly stop: () => Promise<void>,
  ) {}

  static async start(port = 0): Promise<ProcessorSimulator> {
    const server = createServer();
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    const stop = async (): Promise<void> => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    };
    const simulator = new ProcessorSimulator(
      `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      stop,
    );
    server.on('request', (request, response) => void simulator.answer(request, response));
    return simulator;
  }

  /** What a service has to be told to use it. */
  get environment(): Record<string, string> {
    return {
      PROCESSOR_SECRET_KEY: simulatorKey,
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

  private outcome(
    request: IncomingMessage,
    path: string,
    encoded: string,
  ): { status: number; answer: object } {
    const method = request.method ?? 'GET';
    const call = `${method} ${path.replace(/\/(cs|pi|pm|cus)_\w+/, '/:id')}`;
    this.calls.push(call);
    const outage = this.outages.shift();
    if (outage !== undefined) return refusal(outage, { type: 'api_error', message: 'An outage.' });
    if (request.headers.authorization !== `Bearer ${simulatorKey}`) {
      return refusal(401, { type: 'invalid_request_error', message: 'Invalid API Key provided.' });
    }
    const key = request.headers['idempotency-key'];
    const before = typeof key === 'string' && method === 'POST' ? this.answered.get(key) : undefined;
    if (before !== undefined) {
      if (before.call === call && before.encoded === encoded)
        return { status: before.status, answer: before.body };
      return refusal(400, {
        type: 'idempotency_error',
        message: 'Keys for idempotent requests can only be used with the same parameters.',
      });
    }
    const made = this.carryOut(call, path, encoded);
    this.afterwards.get(call)?.();
    if (typeof key === 'string' && method === 'POST' && made.status < 500) {
      this.answered.set(key, { call, encoded, status: made.status, body: made.answer });
    }
    return made;
  }

  private carryOut(call: string, path: string, encoded: string): { status: number; answer: object } {
    try {
      const answer = this.dispatch(
        call,
        /\/((?:cs|pi|pm|cus)_\w+)/.exec(path)?.[1] ?? '',
        readParameters(call, encoded),
      );
      // As it was when it was made: later changes are not part of a repeated answer.
      return { status: 200, answer: structuredClone(answer) };
    } catch (error) {
      if (error instanceof ApiError) return refusal(error.status, structuredClone(error.body));
      throw error;
    }
  }

  private dispatch(call: string, id: string, given: Parameters): object {
    const { account } = this;
    switch (call) {
      case 'POST /v1/customers':
        return account.createCustomer(given);
      case 'POST /v1/checkout/sessions':
        return account.createSession(given, this.url);
      case 'GET /v1/checkout/sessions/:id':
        return this.withIntent(found(account.sessions, id), given);
      case 'GET /v1/payment_methods':
        return listOf(
          [...account.methods.values()].filter(({ customer }) => customer === given.get('customer')),
          given,
          '/v1/payment_methods',
        );
      case 'GET /v1/payment_methods/:id':
        return found(account.methods, id);
      case 'POST /v1/payment_methods/:id/detach':
        return account.detach(id);
      case 'POST /v1/payment_intents':
        return account.createIntent(given);
      case 'GET /v1/payment_intents/:id':
        return this.expanded(found(account.intents, id), given);
      case 'GET /v1/payment_intents':
        return listOf(
          [...account.intents.values()]
            .filter(({ created }) => Number(created) >= Number(given.get('created[gte]') ?? 0))
            .map((intent) => this.expanded(intent, given)),
          given,
          '/v1/payment_intents',
        );
      case 'POST /v1/refunds':
        return account.refund(
          given.get('payment_intent') ?? '',
          given.has('amount') ? Number(given.get('amount')) : undefined,
        );
      case 'GET /v1/webhook_endpoints':
        return listOf(account.endpoints, given, '/v1/webhook_endpoints');
      default:
        throw new ApiError(404, {
          type: 'invalid_request_error',
          message: `Unrecognized request URL (${call}).`,
        });
    }
  }

  private withIntent(session: Stored, given: Parameters): Stored {
    const intent = this.account.intents.get(String(session['payment_intent']));
    const isWanted = [...given.values()].includes('payment_intent');
    return isWanted && intent !== undefined ? { ...session, payment_intent: intent } : session;
  }

  private expanded(intent: Stored, given: Parameters): Stored {
    const names = [...given].filter(([name]) => name.startsWith('expand')).map(([, value]) => value);
    const wanted = names.some((name) => name === 'latest_charge' || name === 'data.latest_charge');
    return wanted
      ? { ...intent, latest_charge: this.account.charges.get(String(intent['latest_charge'])) ?? null }
      : intent;
  }
}

function found(among: Map<string, Stored>, id: string): Stored {
  const object = among.get(id);
  if (object === undefined) {
    throw new ApiError(404, {
      type: 'invalid_request_error',
      code: 'resource_missing',
      message: `No such object: ${id}`,
    });
  }
  return object;
}

/** The newest first, from after the one that is named. */
function listOf(all: readonly Stored[], given: Parameters, url: string): object {
  const newest = all.toReversed();
  const after = given.get('starting_after');
  const begin = after === undefined ? 0 : newest.findIndex(({ id }) => id === after) + 1;
  const limit = Math.min(Number(given.get('limit') ?? 10), 100);
  const data = newest.slice(begin, begin + limit);
  return { object: 'list', url, data, has_more: begin + limit < newest.length };
}

const refusal = (status: number, error: object): { status: number; answer: object } => ({
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
