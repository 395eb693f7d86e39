import { setTimeout as delay } from 'node:timers/promises';

/** One answer, read whole, with what scenarios ask of it. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly bytes: Buffer;
}

export interface Sent {
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly json?: unknown;
  /** Sent as an HTML form would send it. */
  readonly form?: Readonly<Record<string, string>>;
  /** Sent as it is. */
  readonly body?: string | FormData;
}

const DEADLINE_MS = 20_000;

/** A caller of the service: an address, and the headers that authenticate it. */
export class Client {
  constructor(
    private readonly url: string,
    private readonly identity: Readonly<Record<string, string>> = {},
  ) {}

  /** Those that say who it is. */
  get headers(): Readonly<Record<string, string>> {
    return this.identity;
  }

  with(headers: Readonly<Record<string, string>>): Client {
    return new Client(this.url, { ...this.identity, ...headers });
  }

  get(path: string, sent: Sent = {}): Promise<Answer> {
    return this.send('GET', path, sent);
  }

  post(path: string, sent: Sent = {}): Promise<Answer> {
    return this.send('POST', path, sent);
  }

  patch(path: string, sent: Sent = {}): Promise<Answer> {
    return this.send('PATCH', path, sent);
  }

  delete(path: string, sent: Sent = {}): Promise<Answer> {
    return this.send('DELETE', path, sent);
  }

  async send(method: string, path: string, { headers = {}, json, form, body }: Sent = {}): Promise<Answer> {
    const payload =
      json !== undefined ? JSON.stringify(json) : form !== undefined ? new URLSearchParams(form) : body;
    const response = await fetch(`${this.url}${path}`, {
      method,
      redirect: 'manual',
      headers: {
        ...this.identity,
        // A browser says this of a request from our own pages.
        ...(method === 'GET' ? {} : { 'sec-fetch-site': 'same-origin', origin: this.url }),
        ...(json === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      signal: AbortSignal.timeout(DEADLINE_MS),
      ...(payload === undefined ? {} : { body: payload }),
    });
    const bytes = Buffer.from(await response.arrayBuffer());
    return { status: response.status, headers: response.headers, text: bytes.toString('utf8'), bytes };
  }
}

/** The body as an object; what is no JSON is a failure that shows the text. */
export function jsonOf(answer: Answer): Record<string, unknown> {
  try {
    return JSON.parse(answer.text) as Record<string, unknown>;
  } catch {
    throw new Error(`no JSON: ${answer.status} ${answer.text.slice(0, 300)}`);
  }
}

export function expectStatus(answer: Answer, status: number, code?: string): void {
  if (answer.status !== status) {
    throw new Error(`status ${answer.status}, wanted ${status}: ${answer.text.slice(0, 300)}`);
  }
  if (code !== undefined && !answer.text.includes(code)) {
    throw new Error(`no ${code} in the answer: ${answer.text.slice(0, 300)}`);
  }
}

export function expect(holds: boolean, what: string): asserts holds {
  if (!holds) throw new Error(what);
}

/** Requests are on record soon after their answer. */
export async function soon(check: () => Promise<boolean>, what: string): Promise<void> {
  const deadline = Date.now() + 10_000;
  while (!(await check())) {
    expect(Date.now() < deadline, what);
    await delay(100);
  }
}
