import { serialiseRecord } from '#product/audit';
import { Limits, MoneyWatch, PostgresMoneyStore } from '#product/billing';
import { CatalogueService } from '#product/catalogue';
import { costOf, NO_USAGE, parseUsd, uuidv7 } from '#product/kernel';
import { administer, type TestDatabase } from '../../../test/support/postgres';
import { ordinaryOutcome } from '../record';
import { BooksWriter, type Person, writeBooks } from './books-writer';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const MARKUP = 1_100_000;

/**
 * The books have something of everything that money goes through. Two payers call with budgets of all kinds,
 * mark-ups, tags and fees. There are summed days, top-ups with a refund and a dispute, promotions, a raise, a
 * merge and a node that died.
 */
export const fillBooks = (database: TestDatabase): Promise<void> =>
  writeBooks(database, (...parts) => new Filling(...parts));

class Filling extends BooksWriter {
  async write(): Promise<void> {
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
    await this.rerate();
    await this.heldByTheDead(ben);
    await this.app.application.get(MoneyWatch, { strict: false }).verify(true);
  }

  private async payments(ann: Person, ben: Person, cara: Person, operator: Person): Promise<void> {
    const refunded = await this.topUp(ann, 100);
    await this.topUp(ann, 20);
    const disputed = await this.topUp(ben, 50);
    const ordered = await this.topUp(ben, 40);
    await this.topUp(cara, 30);
    const { account } = this.processor;
    account.back.refund(refunded, 1_000);
    account.back.dispute(disputed);
    await this.deliverAll();
    await this.refund(operator, ordered, '7.5');
    await this.adjust(operator, ben, '100', 'credit');
    await this.post(operator, `/dashboard/admin/users/${ann.id}/credit-limit`, { credit_limit: '25' });
  }

  private async promotions(ann: Person, ben: Person, operator: Person): Promise<void> {
    for (const [person, ends] of [
      [ann, false],
      [ben, true],
    ] as const) {
      const id = await this.promotion(operator, person, '50');
      if (ends) await this.post(operator, `/dashboard/admin/promotions/${id}/update`, { end: true });
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
        return serialiseRecord(uuidv7(), now - day * 2 * DAY_MS - place * HOUR_MS, {
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
}
