import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ReadResponse, type Client, expect, expectStatus } from './http';
import type { World } from './world';

export const password = 'kettle orbit mosaic thunder';

export const newAddress = (): string => `${randomBytes(6).toString('hex')}@example.com`;

/** A mail in the outbox, to which the product writes if no mail server is configured. */
export interface SentMail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

/** Waits for the newest matching mail; mails leave after the response, through the queue. */
export async function mailTo(world: World, to: string, subject: RegExp): Promise<SentMail> {
  const outbox = join(world.gateway.node.environment['DATA_FOLDER'] ?? '', 'outbox');
  const deadline = Date.now() + 20_000;
  while (Date.now() < deadline) {
    const matchingMail = mailsIn(outbox).find((mail) => mail.to === to && subject.test(mail.subject));
    if (matchingMail !== undefined) return matchingMail;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`no mail to ${to} with ${String(subject)}`);
}

function mailsIn(outbox: string): SentMail[] {
  if (!existsSync(outbox)) return [];
  const names = readdirSync(outbox).filter((name) => name.endsWith('.json'));
  return names
    .toSorted()
    .reverse()
    .flatMap((name) => mailIn(join(outbox, name)));
}

/** The product might delete the oldest files meanwhile. */
function mailIn(path: string): SentMail[] {
  return existsSync(path) ? [JSON.parse(readFileSync(path, 'utf8')) as SentMail] : [];
}

export const tokenIn = (mail: SentMail): string => /token=([\w-]{43})/.exec(mail.text)?.[1] ?? '';

export async function statusOf(world: World, email: string): Promise<string | undefined> {
  const [row] = await world.rows<{ status: string }>('SELECT status FROM user_account WHERE email = $1', [
    email,
  ]);
  return row?.status;
}

/** Registers a user and returns the confirmation token of the mail. */
export async function registerUser(world: World): Promise<{ email: string; token: string }> {
  const email = newAddress();
  const body = { email, password, display_name: 'Anna Weber', terms: true };
  expectStatus(await world.anonymous.post('/auth/register', { json: body }), 200);
  return { email, token: tokenIn(await mailTo(world, email, /Confirm your email/)) };
}

/** Registers a user, confirms the address and returns it. */
export async function registerConfirmedUser(world: World): Promise<string> {
  const { email, token } = await registerUser(world);
  expectStatus(await world.anonymous.post('/verify-email', { json: { token } }), 200);
  return email;
}

/** Cookies set by a response, as a browser sends them back. */
export const cookiesOf = (answer: ReadResponse): string =>
  answer.headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ');

/** Returns a browser in which this user is signed in. */
export async function signInByPassword(world: World, email: string, secret = password): Promise<Client> {
  const answer = await world.anonymous.post('/auth/login', { json: { email, password: secret } });
  expectStatus(answer, 200);
  return world.anonymous.with({ cookie: cookiesOf(answer) });
}

/** The status of the terms shows whether a user is signed in: the smallest response only users can read. */
export async function expectSession(client: Client, open: boolean): Promise<void> {
  const { status } = await client.get('/api/legal/status');
  expect(status === (open ? 200 : 401), `the session is ${open ? 'open' : 'over'}: ${status}`);
}

/** Expects the page to contain these texts in the visitor's language. */
export async function expectPage(client: Client, path: string, ...texts: string[]): Promise<void> {
  const answer = await client.get(path, { headers: { accept: 'text/html' } });
  expectStatus(answer, 200);
  for (const text of texts) expect(answer.text.includes(text), `${path} does not hold "${text}"`);
}
