import { randomUUID } from 'node:crypto';
import { writtenRecord } from '#product/audit';
import { Limits, MoneyWatch, PostgresMoneyStore } from '#product/billing';
import { CatalogueService } from '#product/catalogue';
import { UserAccount } from '#product/identity';
import { costOf, NO_USAGE, parseUsd, platformScope, type Role, uuidv7 } from '#product/kernel';
import { KeysService, type NewKey } from '#product/keys';
import { startTestApp, type TestApp } from '../../../test/support/app';
import { signIn } from '../../../test/support/people';
import { administer, type TestDatabase } from '../../../test/support/postgres';
import { deliver, ProcessorSimulator } from '../../../simulator/processor/processor-simulator';
import { startSimulator } from '../../../test/support/simulator';
import { ordinaryOutcome } from '../record';

interface Person {
  readonly id: number;
  readonly cookie: string;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const MARKUP = 1_100_000;

/**
 * The books have something of everything that money goes through. Two payers call with budgets of all kinds,
 * mark-ups, tags and fees. There are summed days, top-ups with a refund and a dispute, promotions, a raise, a
 * merge and a node that died.
 */
export async function fillBooks(database: TestDatabase): Promise<void> {
  const supplier = await startSimulator();
  const processor = await ProcessorSimulator.start();
  const app = await startTestApp({
    sandboxUrl: supplier.url,
    sharedDatabase: database,
    environment: processor.environment,
  });
  try {
    await new Filling(app, processor, database).all();
  } finally {
    await app.close();
    await processor.stop();
    await supplier.stop();
  }
}

class Filling {
  constructor(
    private readonly app: TestApp,
    private readonly processor: ProcessorSimulator,
    private readonly database: TestDatabase,
  ) {}

  async all(): Promise<void> {
    const operator = await this.person('operator', 'platform_admin');
    const [north, south, west] = [
      await this.organisation(operator, 'north'),
      await this.organisation(operator, 'south'),
      await this.organisation(operator, 'west'),
    ];
    const ann = await this.person('ann', 'org_owner', north);
    const ben = await this.person('ben', 'org_owner', south);
    const cara = await this.person('cara', 'org_owner', west);
    await this.pays(north, ann);
    await this.pays(south, ben);
    await this.pays(west, cara);
    await this.payments(ann, ben, cara, operator);
    await this.promotions(ann, ben, operator);
    await this.spending(operator, { north, south, ann, ben });
    await this.merge(operator, south, west, ben);
    await this.invoices(operator);
    await this.heldByTheDead(ben);
    await this.app.application.get(MoneyWatch, { strict: false }).look(true);
  }

  private async payments(ann: Person, ben: Person, cara: Person, operator: Person): Promise<void> {
    const refunded = await this.topUp(ann, 100);
    await this.topUp(ann, 20);
    const disputed = await this.topUp(ben, 50);
    await this.topUp(cara, 30);
    const { account } = this.processor;
    account.back.refund(refunded, 1_000);
    account.back.dispute(disputed);
    await this.deliverAll();
    await this.post(operator, '/dashboard/admin/billing/adjust', {
      amount: '100',
      direction: 'credit',
      reason: 'a courtesy',
      token: randomUUID(),
      user_id: String(ben.id),
    });
    await this.post(operator, `/dashboard/admin/users/${ann.id}/credit-limit`, { credit_limit: '25' });
  }

  private async promotions(ann: Person, ben: Person, operator: Person): Promise<void> {
    for (const [person, ends] of [
      [ann, false],
      [ben, true],
    ] as const) {
      const { id } = await this.post(operator, '/dashboard/admin/promotions', {
        name: 'Hello',
        scope: 'user',
        user_id: person.id,
        amount: '50',
        expires_at: new Date(Date.now() + DAY_MS).toISOString(),
      });
      if (ends) await this.post(operator, `/dashboard/admin/promotions/${String(id)}/update`, { end: true });
    }
  }

  private async spending(
    operator: Person,
    { north, south, ann, ben }: { north: number; south: number; ann: Person; ben: Person },
  ): Promise<void> {
    const percent = (MARKUP - 1_000_000) / 10_000;
    await this.post(operator, `/dashboard/admin/organisations/${north}/markup`, { percent: String(percent) });
    const { id } = await this.post(operator, '/dashboard/admin/projects', { name: 'Tides', org_id: north });
    const project = Number(id);
    const keys = [
      await this.key(ann, north, project, { budget: { limit: parseUsd('90'), period: 'rolling' } }),
      await this.key(ann, north, project, {
        budget: { limit: parseUsd('80'), period: 'monthly' },
        modelBudgets: [{ model: 'sim-large', limit: parseUsd('70'), period: 'daily' }],
      }),
      await this.key(ben, south, null, { budget: { limit: parseUsd('60'), period: 'daily' } }),
    ];
    const limits = new Limits(this.app.database);
    await this.app.database.transaction(async (tx) => {
      await limits.set(tx, { kind: 'user', id: ben.id }, { period: 'monthly', limit: parseUsd('500') });
      await limits.set(
        tx,
        { kind: 'user_budget', id: ben.id },
        { period: 'rolling', limit: parseUsd('400') },
      );
      await limits.set(
        tx,
        { kind: 'organisation', id: north },
        { period: 'rolling', limit: parseUsd('900') },
      );
    });
    await this.post(operator, `/dashboard/admin/organisations/${north}/budget-raise`, {
      raise_amount: '2.5',
      raise_until: new Date(Date.now() + DAY_MS).toISOString(),
      reason: 'A fair.',
    });
    await this.earlier(north, project, ann, ben);
    for (const key of keys) {
      for (const model of ['sim-large', 'sim-small']) {
        await this.call(
          key,
          { model, user: 'someone', metadata: { tags: 'night,shift' } },
          '[[tokens=60]] [[cached=100]]',
        );
        await this.call(
          key,
          { model, stream: true, stream_options: { include_usage: true } },
          'two [[think]]',
        );
      }
      await this.call(key, { model: 'sim-large', web_search_options: {} }, 'what is new?');
    }
  }

  /** Records of the days before, as nodes settled them then; the days are summed, as the nightly job does. */
  private async earlier(organisationId: number, projectId: number, ann: Person, ben: Person): Promise<void> {
    const { database } = this.app;
    const now = Date.now();
    await database.query('SELECT ensure_request_record_partitions($1::date, 3)', [
      new Date(now - 40 * DAY_MS).toISOString(),
    ]);
    const found = this.app.application.get(CatalogueService, { strict: false }).resolve('sim-large');
    const price = found.kind === 'refused' ? undefined : found.lanes[0]?.price;
    if (price === undefined) throw new Error('the sandbox has a price for sim-large');
    const store = new PostgresMoneyStore(database);
    const usage = { ...NO_USAGE, inputTokens: 1_200, cacheReadTokens: 300, outputTokens: 250, calls: 1 };
    for (let day = 1; day <= 4; day += 1) {
      const records = [ann, ben].map((person, place) => {
        const factor = null;
        return writtenRecord(uuidv7(), now - day * 2 * DAY_MS - place * HOUR_MS, {
          ...ordinaryOutcome(usage),
          model: 'sim-large',
          userId: person.id,
          walletId: person.id,
          organisationId: place === 0 ? organisationId : null,
          projectId: place === 0 ? projectId : null,
          priceId: price.id,
          endUser: 'someone',
          tags: ['night'],
          priceFactor: factor,
          costNano: costOf(usage, price.rates, factor),
        });
      });
      await store.settle({ lease: null, number: 0, records, releases: [] });
      await database.query('SELECT merge_usage_day($1)', [new Date(now - day * 2 * DAY_MS).toISOString()]);
    }
  }

  /** One who is billed by invoice, pays twice, and one who left with a debt. */
  private async invoices(operator: Person): Promise<void> {
    for (const name of ['dora', 'emil']) {
      const person = await this.person(name, 'user');
      const path = `/dashboard/admin/users/${person.id}`;
      await this.post(operator, `${path}/credit-limit`, { credit_limit: '30' });
      await this.post(operator, `${path}/billing-config`, { billing_type: 'invoiced' });
      await this.call(await this.key(person, null, null, {}), { model: 'sim-small' }, 'by invoice');
      for (const reference of ['first', 'second'])
        await this.post(operator, `${path}/invoice-payment`, { amount: '0.5', reference });
      const { payment_id: undone } = await this.newestPayment(person);
      await this.post(operator, `${path}/invoice-payment-undo`, { payment_id: undone, reason: 'returned' });
      if (name === 'emil') await this.post(operator, `${path}/billing-config`, { billing_type: 'prepaid' });
    }
  }

  private async newestPayment({ id }: Person): Promise<{ payment_id: number }> {
    const [row] = await this.app.database.query<{ payment_id: number }>(
      'SELECT max(id)::integer AS payment_id FROM invoice_payment WHERE payer_id = $1',
      [id],
    );
    return row ?? { payment_id: 0 };
  }

  private async merge(operator: Person, target: number, source: number, payer: Person): Promise<void> {
    await this.post(operator, '/dashboard/admin/organisations/merge', {
      target_org_id: String(target),
      source_org_ids: String(source),
      billing_user_id: String(payer.id),
    });
  }

  /** A node that keeps a journal, and is not heard of any more. */
  private async heldByTheDead({ id }: Person): Promise<void> {
    const store = new PostgresMoneyStore(this.app.database);
    const lease = uuidv7();
    await store.beat(lease, 'lost-node', true, 'gone:/data/journal');
    await store.draw(lease, 1, [{ ref: { kind: 'wallet', id }, need: 1_500_000n, want: 1_500_000n }]);
    await administer(
      this.database.ownerUrl,
      `UPDATE escrow_lease SET expires_at = now() - interval '1 s' WHERE node = 'lost-node'`,
    );
  }

  private async person(name: string, role: Role, organisationId: number | null = null): Promise<Person> {
    const accounts = this.app.database.source.getRepository(UserAccount);
    const user = accounts.create({
      email: `${name}@example.com`,
      displayName: name,
      status: 'active',
      role,
      organisationId,
    });
    await accounts.insert(user);
    return { id: user.id, cookie: await signIn(this.app, user.id) };
  }

  private async organisation(operator: Person, name: string): Promise<number> {
    return Number((await this.post(operator, '/dashboard/admin/organisations', { name, slug: name }))['id']);
  }

  private async pays(organisation: number, person: Person): Promise<void> {
    await this.app.database.query('UPDATE organisation SET billing_user_id = $2 WHERE id = $1', [
      organisation,
      person.id,
    ]);
  }

  private key(
    person: Person,
    organisationId: number | null,
    projectId: number | null,
    limits: Partial<NewKey>,
  ): Promise<string> {
    return this.app.database.transaction(async (tx) => {
      const issued = await this.app.application.get(KeysService, { strict: false }).issue(platformScope, tx, {
        ...{ userId: person.id, organisationId, departmentId: null, projectId },
        ...limits,
        ...{ kind: 'client', name: 'filled', createdBy: 'proof' },
      });
      return issued.text;
    });
  }

  private async call(key: string, rest: object, text: string): Promise<void> {
    const response = await fetch(`${this.app.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ max_tokens: 300, messages: [{ role: 'user', content: text }], ...rest }),
    });
    const answer = await response.text();
    if (response.status !== 200) throw new Error(`a call was refused: ${response.status} ${answer}`);
  }

  private async topUp(payer: Person, amount: number): Promise<string> {
    const { url } = await this.post(payer, '/api/billing/checkout', { amount });
    const session = String(url).split('/').at(-1) ?? '';
    this.processor.account.pay(session);
    await this.deliverAll();
    return String(this.processor.account.sessions.get(session)?.['payment_intent']);
  }

  private async deliverAll(): Promise<void> {
    for (const event of this.processor.account.events.splice(0)) await deliver(this.app.url, event);
  }

  private async post(by: Person, path: string, json: object): Promise<Record<string, unknown>> {
    const response = await fetch(this.app.url + path, {
      method: 'POST',
      headers: {
        ...{ cookie: by.cookie, origin: this.app.url, 'sec-fetch-site': 'same-origin' },
        'content-type': 'application/json',
      },
      body: JSON.stringify(json),
    });
    const text = await response.text();
    if (response.status !== 200) throw new Error(`${path}: ${response.status} ${text.slice(0, 300)}`);
    return text.startsWith('{') ? (JSON.parse(text) as Record<string, unknown>) : {};
  }
}
