import { setTimeout as delay } from 'node:timers/promises';

/** A completely read response with the parts that scenarios check. */
export interface ReadResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly bytes: Buffer;
}

export interface ClientRequestOptions {
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly json?: unknown;
  /** Sent as an HTML form would send it. */
  readonly form?: Readonly<Record<string, string>>;
  /** Sent unchanged. */
  readonly body?: string | FormData;
}

const DEADLINE_MS = 20_000;

/** A client of the service: a base URL and authentication headers. */
export class Client {
  constructor(
    private readonly url: string,
    private readonly identity: Readonly<Record<string, string>> = {},
  ) {}

  /** Authentication headers. */
  get headers(): Readonly<Record<string, string>> {
    return this.identity;
  }

  with(headers: Readonly<Record<string, string>>): Client {
    return new Client(this.url, { ...this.identity, ...headers });
  }

  get(path: string, options: ClientRequestOptions = {}): Promise<ReadResponse> {
    return this.send('GET', path, options);
  }

  post(path: string, options: ClientRequestOptions = {}): Promise<ReadResponse> {
    return this.send('POST', path, options);
  }

  patch(path: string, options: ClientRequestOptions = {}): Promise<ReadResponse> {
    return this.send('PATCH', path, options);
  }

  delete(path: string, options: ClientRequestOptions = {}): Promise<ReadResponse> {
    return this.send('DELETE', path, options);
  }

  async send(
    method: string,
    path: string,
    { headers = {}, json, form, body }: ClientRequestOptions = {},
  ): Promise<ReadResponse> {
    const payload =
      json !== undefined ? JSON.stringify(json) : form !== undefined ? new URLSearchParams(form) : body;
    const response = await fetch(`${this.url}${path}`, {
      method,
      redirect: 'manual',
      headers: {
        ...this.identity,
        // Browsers send these headers with requests from own pages.
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

/** Parses the body as an object; fails with the text if it is not JSON. */
export function jsonOf(answer: ReadResponse): Record<string, unknown> {
  try {
    return JSON.parse(answer.text) as Record<string, unknown>;
  } catch {
    throw new Error(`no JSON: ${answer.status} ${answer.text.slice(0, 300)}`);
  }
}

export function expectStatus(answer: ReadResponse, status: number, code?: string): void {
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

/** Waits for a condition; requests are recorded shortly after their response. */
export async function eventually(check: () => Promise<boolean>, what: string): Promise<void> {
  const deadline = Date.now() + 10_000;
  while (!(await check())) {
    expect(Date.now() < deadline, what);
    await delay(100);
  }
}
