import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Answer, type Client, expect, expectStatus } from './http';
import type { World } from './world';

export const password = 'kettle orbit mosaic thunder';

export const newAddress = (): string => `${randomBytes(6).toString('hex')}@example.com`;

/** The product writes this into its outbox where no mail server is set. */
export interface SentMail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

/** Mails leave after the answer, through the queue. The newest one that fits. */
export async function mailTo(world: World, to: string, subject: RegExp): Promise<SentMail> {
  const outbox = join(world.gateway.node.environment['DATA_FOLDER'] ?? '', 'outbox');
  const deadline = Date.now() + 20_000;
  while (Date.now() < deadline) {
    const found = mailsIn(outbox).find((mail) => mail.to === to && subject.test(mail.subject));
    if (found !== undefined) return found;
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

/** The product clears the oldest ones away meanwhile. */
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

/** Registers, and answers the token of the mail that confirms it. */
export async function registered(world: World): Promise<{ email: string; token: string }> {
  const email = newAddress();
  const body = { email, password, display_name: 'Anna Weber', terms: true };
  expectStatus(await world.anonymous.post('/auth/register', { json: body }), 200);
  return { email, token: tokenIn(await mailTo(world, email, /Confirm your email/)) };
}

/** A person who registered and confirmed the address. */
export async function confirmed(world: World): Promise<string> {
  const { email, token } = await registered(world);
  expectStatus(await world.anonymous.post('/verify-email', { json: { token } }), 200);
  return email;
}

/** The cookies that an answer has set, as a browser sends them back. */
export const cookiesOf = (answer: Answer): string =>
  answer.headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ');

/** A browser in which this person is signed in. */
export async function signedIn(world: World, email: string, secret = password): Promise<Client> {
  const answer = await world.anonymous.post('/auth/login', { json: { email, password: secret } });
  expectStatus(answer, 200);
  return world.anonymous.with({ cookie: cookiesOf(answer) });
}

/** The terms' status tells whether a person is signed in here: it is the smallest thing only they may read. */
export async function expectSession(client: Client, open: boolean): Promise<void> {
  const { status } = await client.get('/api/legal/status');
  expect(status === (open ? 200 : 401), `the session is ${open ? 'open' : 'over'}: ${status}`);
}

/** A page has to hold these texts, in the words of its visitor. */
export async function expectPage(client: Client, path: string, ...texts: string[]): Promise<void> {
  const answer = await client.get(path, { headers: { accept: 'text/html' } });
  expectStatus(answer, 200);
  for (const text of texts) expect(answer.text.includes(text), `${path} does not hold "${text}"`);
}
