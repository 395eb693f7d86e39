import { randomBytes } from 'node:crypto';
import { request } from 'undici';
import { Outbox, type OutboxMail } from '#product/platform';
import { startTestApp, type TestApp, type TestAppOptions } from '../../support/app';
import { administer } from '../../support/postgres';
import { until } from '../../support/until';
import { sendJson } from '../web/page-requests';

export const goodPassword = 'kettle orbit mosaic thunder';

export const newAddress = (): string => `${randomBytes(6).toString('hex')}@example.com`;

/** Lengthens the first two-second wait, because a busy machine might not reach the next attempt within it. */
const lengthenWaitSql = `CREATE FUNCTION lengthen_wait() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN NEW.blocked_until := NEW.blocked_until + interval '40 seconds'; RETURN NEW; END $$;
  CREATE TRIGGER lengthen_wait BEFORE UPDATE ON attempt_throttle FOR EACH ROW
  WHEN (NEW.blocked_until > clock_timestamp()) EXECUTE FUNCTION lengthen_wait()`;

/** Starts the service with enough free sign-in attempts for tests that are not about throttling. */
export async function startAccountFixture(options: TestAppOptions = {}): Promise<TestApp> {
  const app = await startTestApp({
    ...options,
    environment: { ACCOUNT_FREE_ATTEMPTS: '1000', ADDRESS_FREE_ATTEMPTS: '100000', ...options.environment },
  });
  if (options.sharedDatabase === undefined)
    await administer(app.environment['MIGRATION_DATABASE_URL'] ?? '', lengthenWaitSql);
  return app;
}

export interface BrowserResponse {
  readonly status: number;
  readonly location: string | null;
  readonly text: string;
  readonly headers: Headers;
  json(): Record<string, unknown>;
}

interface BrowserRequestInit {
  readonly method?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | URLSearchParams;
}

/** Minimal browser: stores cookies, submits forms and does not follow redirects. */
export class Browser {
  private readonly cookies = new Map<string, string>();

  constructor(
    readonly url: string,
    private readonly defaultHeaders: Readonly<Record<string, string>> = {},
  ) {}

  cookie(name: string): string | undefined {
    return this.cookies.get(name);
  }

  setCookie(name: string, value: string): void {
    this.cookies.set(name, value);
  }

  page(path: string, headers: Readonly<Record<string, string>> = {}): Promise<BrowserResponse> {
    return this.send(path, { headers: { accept: 'text/html', ...headers } });
  }

  get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<BrowserResponse> {
    return this.send(path, { headers: { accept: 'application/json', ...headers } });
  }

  /** Sends the fields as an HTML form does. */
  submit(
    path: string,
    fields: Readonly<Record<string, string>>,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<BrowserResponse> {
    return this.send(path, {
      method: 'POST',
      headers: { accept: 'text/html', 'sec-fetch-site': 'same-origin', ...headers },
      body: new URLSearchParams(fields),
    });
  }

  /** Sends JSON, as an API client does. */
  post(
    path: string,
    body: object = {},
    headers: Readonly<Record<string, string>> = {},
  ): Promise<BrowserResponse> {
    return this.send(path, {
      method: 'POST',
      headers: {
        accept: 'application/json',
        'content-type': 'application/json',
        'sec-fetch-site': 'same-origin',
        ...headers,
      },
      body: JSON.stringify(body),
    });
  }

  async send(path: string, init: BrowserRequestInit): Promise<BrowserResponse> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    // fetch() does not allow overriding the Host header.
    const answer = await request(new URL(path, this.url), {
      method: (init.method ?? 'GET') as 'GET',
      headersTimeout: 20_000,
      headers: {
        ...this.defaultHeaders,
        ...(cookie === '' ? {} : { cookie }),
        ...(init.body instanceof URLSearchParams && { 'content-type': 'application/x-www-form-urlencoded' }),
        ...init.headers,
      },
      body: init.body?.toString() ?? null,
    });
    const headers = new Headers();
    for (const [name, value] of Object.entries(answer.headers)) {
      for (const line of [value ?? []].flat()) headers.append(name, line);
    }
    for (const line of headers.getSetCookie()) this.storeCookie(line);
    const text = await answer.body.text();
    return {
      status: answer.statusCode,
      headers,
      text,
      location: headers.get('location'),
      json: () => JSON.parse(text) as Record<string, unknown>,
    };
  }

  private storeCookie(line: string): void {
    const [pair = '', ...attributes] = line.split('; ');
    const equals = pair.indexOf('=');
    const name = pair.slice(0, equals);
    if (attributes.includes('Max-Age=0')) this.cookies.delete(name);
    else this.cookies.set(name, pair.slice(equals + 1));
  }
}

/** Polls the outbox, because emails are sent through the queue. */
export async function mailTo(app: TestApp, to: string, subject: RegExp, skip = 0): Promise<OutboxMail> {
  const outbox = app.application.get(Outbox, { strict: false });
  let matchingMail: OutboxMail | undefined;
  await until(
    async () => {
      const mails = (await outbox.list()).filter((mail) => mail.to === to && subject.test(mail.subject));
      matchingMail = mails.at(-1 - skip);
      return matchingMail !== undefined;
    },
    undefined,
    `a mail to ${to} with ${String(subject)}`,
  );
  return matchingMail as unknown as OutboxMail;
}

export const tokenIn = (mail: OutboxMail): string => /token=([\w-]{43})/.exec(mail.text)?.[1] ?? '';

export const registration = (email: string, password = goodPassword): Record<string, string> => ({
  email,
  password,
  display_name: 'Anna Weber',
  terms: 'on',
});

/** Registers a user with a confirmed email address and returns the address; the user is not signed in. */
export async function registerUser(
  app: TestApp,
  email = newAddress(),
  password = goodPassword,
): Promise<string> {
  const browser = new Browser(app.url);
  expect((await browser.post('/auth/register', registration(email, password))).status).toBe(200);
  const token = tokenIn(await mailTo(app, email, /Confirm your email/));
  expect((await browser.post('/verify-email', { token })).status).toBe(200);
  return email;
}

/** Returns a browser in which the user is signed in. */
export async function signInBrowser(app: TestApp, email: string, password = goodPassword): Promise<Browser> {
  const browser = new Browser(app.url);
  const answer = await browser.post('/auth/login', { email, password });
  expect([answer.status, answer.text]).toEqual([200, expect.stringContaining('"ok":true')]);
  return browser;
}

/** Sends an invitation and returns the path from its email. */
export async function sendInvitation(
  app: TestApp,
  administrator: string,
  email: string,
  organisationId: number,
  role = 'user',
): Promise<string> {
  const form = { email, role, org_id: organisationId };
  const inviteResponse = await sendJson(
    { url: app.url, cookie: administrator },
    '/dashboard/admin/users/invite',
    form,
  );
  expect(inviteResponse.status).toBe(200);
  return /\/invite\/[\w-]+/.exec((await mailTo(app, email, /invited/)).text)?.[0] ?? '';
}
