import type { Browser } from 'playwright-core';
import { type ViewOptions, withPage } from '../../test/support/browser/launch';
import { type PageIssues, checkPage } from '../../test/support/browser/page-gate';
import { buildExtension, type ExtensionFolder } from '../../test/support/extension-folder';
import { deliver } from '../../simulator/processor/processor-simulator';
import { expectStatus, jsonOf } from '../operations/http';
import { type PortalUser, World } from '../operations/world';
import { freePort } from '../../test/system/free-port';

const DAYS = 90;

/** Users in whose sessions the pages are opened. */
export interface DemoPeople {
  /** Owner of the demo organisation, in the administration view. */
  readonly owner: PortalUser;
  /** Owner of keys and of most of the traffic. */
  readonly developer: PortalUser;
  /** Pays individually. */
  readonly payer: PortalUser;
  /** Owner of the platform, in the administration view. */
  readonly operator: PortalUser;
  /** Has an account without any activity. */
  readonly newcomer: PortalUser;
}

export type DemoRole = keyof DemoPeople | 'anonymous';

/** An installation with demo data, payments, a conversation and an incident. */
export class DemoSite {
  private constructor(
    readonly world: World,
    readonly people: DemoPeople,
    private readonly example: ExtensionFolder,
  ) {}

  static async open(requests: number): Promise<DemoSite> {
    const port = await freePort();
    const example = buildExtension('examples/extensions/cost-centres');
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

  /** Checks a page in a browser in which this user is signed in. */
  look(
    browser: Browser,
    role: DemoRole,
    viewing: ViewOptions,
    path: string,
    look: PageCheckOptions = {},
  ): Promise<PageIssues> {
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
      const finalUrl = new URL(page.url());
      if (finalUrl.pathname !== new URL(address).pathname) faults.console.push(`led to ${finalUrl.pathname}`);
      if (look.picture !== undefined) {
        await page.screenshot({ path: look.picture, fullPage: look.isFullPage ?? false });
      }
      return faults;
    });
  }

  async close(): Promise<void> {
    await this.world.close();
    this.example.remove();
  }
}

export interface PageCheckOptions {
  readonly status?: number;
  readonly cookies?: Readonly<Record<string, string>>;
  /** Path of the screenshot to write. */
  readonly picture?: string;
  readonly isFullPage?: boolean;
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

async function member(world: World, email: string): Promise<PortalUser> {
  const [account] = await world.rows<{ id: number; email: string }>(
    'SELECT id, email FROM user_account WHERE email = $1',
    [email],
  );
  if (account === undefined) throw new Error(`the demonstration has no ${email}`);
  return world.signIn(account);
}

/** Two top-ups, one of them partially refunded, a third never paid, and charged requests. */
async function pay(world: World, payer: PortalUser): Promise<void> {
  const { account } = world.processor;
  const startTopUp = async (amount: number): Promise<string> => {
    const answer = await payer.client.post('/api/billing/checkout', { json: { amount } });
    expectStatus(answer, 200);
    return String(jsonOf(answer)['url']).split('/').at(-1) ?? '';
  };
  const deliverEvents = async (): Promise<void> => {
    for (const event of account.events.splice(0)) await deliver(world.url, event);
  };
  const first = await startTopUp(50);
  account.pay(first);
  await deliverEvents();
  account.pay(await startTopUp(25), '5555555555554444');
  account.refundsAndDisputes.refund(String(account.sessions.get(first)?.['payment_intent']), 1000);
  await deliverEvents();
  await startTopUp(10);
  const { client } = await world.newKey(payer, 'reading-list');
  for (let index = 0; index < 12; index += 1) {
    const json = {
      model: 'sim-large',
      messages: [{ role: 'user', content: `Line ${index} [[tokens=200]]` }],
    };
    expectStatus(await client.post('/v1/chat/completions', { json }), 200);
  }
}

async function converse({ client }: PortalUser): Promise<void> {
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
    const createResponse = await client.post('/api/conversations', { json: { model, title } });
    expectStatus(createResponse, 200);
    const id = String(jsonOf(createResponse)['id']);
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
