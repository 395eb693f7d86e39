import type { Browser } from 'playwright-core';
import { type Viewing, withPage } from '../../test/support/browser/launch';
import { type PageFaults, checkPage } from '../../test/support/browser/page-gate';
import { builtExtension, type ExtensionFolder } from '../../test/support/extension-folder';
import { deliver } from '../../simulator/processor/processor-simulator';
import { expectStatus, jsonOf } from '../operations/http';
import { type Person, World } from '../operations/world';
import { freePort } from '../../test/system/free-port';

const DAYS = 90;

/** The people in whose sessions the pages are opened. */
export interface DemoPeople {
  /** Owns the demonstration's organisation and works in the administration's view. */
  readonly owner: Person;
  /** Has keys and most of the traffic. */
  readonly developer: Person;
  /** Pays for themselves. */
  readonly payer: Person;
  /** Owns the platform and works in the administration's view. */
  readonly operator: Person;
  /** Has an account and has done nothing yet. */
  readonly newcomer: Person;
}

export type Role = keyof DemoPeople | 'anonymous';

/** An installation filled with the demonstration, payments, a conversation and an incident. */
export class DemoSite {
  private constructor(
    readonly world: World,
    readonly people: DemoPeople,
    private readonly example: ExtensionFolder,
  ) {}

  static async open(requests: number): Promise<DemoSite> {
    const port = await freePort();
    const example = builtExtension('examples/extensions/cost-centres');
    const world = await World.open({
      NODE_ENV: 'development',
      PORT: String(port),
      BASE_URL: `http://127.0.0.1:${port}`,
      SETTLE_ACK: 'commit',
      EXTENSIONS: example.path,
    });
    try {
      return new DemoSite(world, await fill(world, requests), example);
    } catch (error) {
      await world.close();
      example.remove();
      throw error;
    }
  }

  /** A browser in which this person is signed in looks at a page. */
  look(browser: Browser, role: Role, viewing: Viewing, path: string, look: Look = {}): Promise<PageFaults> {
    return withPage(browser, viewing, async (page, context) => {
      const cookies = {
        ...(role === 'anonymous' ? {} : { svc_session: this.people[role].session }),
        ...look.cookies,
      };
      await context.addCookies(
        Object.entries(cookies).map(([name, value]) => ({ name, value, url: this.world.url })),
      );
      const address = this.world.url + path;
      let status = 0;
      page.on('response', (response) => {
        if (response.url() === address) status = response.status();
      });
      const faults = await checkPage(page, address);
      if (status !== (look.status ?? 200)) faults.console.push(`answered ${status}`);
      const reached = new URL(page.url());
      if (reached.pathname !== new URL(address).pathname) faults.console.push(`led to ${reached.pathname}`);
      if (look.picture !== undefined) {
        await page.screenshot({ path: look.picture, fullPage: look.whole ?? false });
      }
      return faults;
    });
  }

  async close(): Promise<void> {
    await this.world.close();
    this.example.remove();
  }
}

export interface Look {
  readonly status?: number;
  readonly cookies?: Readonly<Record<string, string>>;
  /** The file of a picture that is taken. */
  readonly picture?: string;
  readonly whole?: boolean;
}

async function fill(world: World, requests: number): Promise<DemoPeople> {
  const { node } = world.gateway;
  const seeded = await node.command('demo:seed', '--days', String(DAYS), '--requests', String(requests));
  if (seeded.code !== 0) throw new Error(`there is no demonstration: ${seeded.text}`);
  const people: DemoPeople = {
    owner: await member(world, 'ada.lindqvist@harbour.example'),
    developer: await member(world, 'david.okafor@harbour.example'),
    payer: await world.newPerson({ displayName: 'Łucja Żółkiewska', billingExempt: false }),
    operator: await world.newPerson({ role: 'platform_owner', displayName: 'Grace Hopper' }),
    newcomer: await world.newPerson({ displayName: 'Noor Haddad' }),
  };
  for (const person of [people.owner, people.operator]) {
    expectStatus(
      await person.client.post('/dashboard/toggle-admin-mode', { json: { admin_mode: 'on' } }),
      200,
    );
  }
  await pay(world, people.payer);
  await converse(people.developer);
  await failedRequests(world);
  return people;
}

async function member(world: World, email: string): Promise<Person> {
  const [account] = await world.rows<{ id: number; email: string }>(
    'SELECT id, email FROM user_account WHERE email = $1',
    [email],
  );
  if (account === undefined) throw new Error(`the demonstration has no ${email}`);
  return world.signIn(account);
}

/** Two top-ups, one of them given back in part, one that was never paid, and requests that cost something. */
async function pay(world: World, payer: Person): Promise<void> {
  const { account } = world.processor;
  const begin = async (amount: number): Promise<string> => {
    const answer = await payer.client.post('/api/billing/checkout', { json: { amount } });
    expectStatus(answer, 200);
    return String(jsonOf(answer)['url']).split('/').at(-1) ?? '';
  };
  const bring = async (): Promise<void> => {
    for (const event of account.events.splice(0)) await deliver(world.url, event);
  };
  const first = await begin(50);
  account.pay(first);
  await bring();
  account.pay(await begin(25), '5555555555554444');
  account.back.refund(String(account.sessions.get(first)?.['payment_intent']), 1000);
  await bring();
  await begin(10);
  const { client } = await world.newKey(payer, 'reading-list');
  for (let index = 0; index < 12; index += 1) {
    const json = {
      model: 'sim-large',
      messages: [{ role: 'user', content: `Line ${index} [[tokens=200]]` }],
    };
    expectStatus(await client.post('/v1/chat/completions', { json }), 200);
  }
}

async function converse({ client }: Person): Promise<void> {
  const conversations: readonly (readonly [model: string, title: string, said: readonly string[]])[] = [
    ['sim-small', 'Tide tables', ['Write a haiku about tides.']],
    [
      'auto',
      'Harbour dues',
      [
        'Write the SQL query that lists berths by day and explain the index it needs.',
        'And for a boat of 14 metres, with `power`?',
      ],
    ],
  ];
  for (const [model, title, said] of conversations) {
    const made = await client.post('/api/conversations', { json: { model, title } });
    expectStatus(made, 200);
    const id = String(jsonOf(made)['id']);
    for (const content of said) {
      expectStatus(await client.post(`/api/chat/${id}`, { json: { content } }), 200);
    }
  }
}

const failedRequests = (world: World): Promise<object[]> =>
  world.rows(
    `INSERT INTO incident (kind, provider, model, region, cause, status, started_at, last_seen_at, ended_at)
     VALUES ('lane', 'northcloud', 'sim-large', 'eu-central', 'backend_error', 503, now() - interval '2 h', now(), NULL),
            ('errors', '', 'sim-reason', '', '25 % of 40', NULL, now() - interval '9 h', now(), now() - interval '8 h')`,
  );
