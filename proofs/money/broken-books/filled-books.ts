import { serialiseRecord } from '#product/audit';
import { Limits, MoneyWatch, PostgresMoneyStore } from '#product/billing';
import { CatalogueService } from '#product/catalogue';
import { costOf, NO_USAGE, parseUsd, uuidv7 } from '#product/kernel';
import { administer, type TestDatabase } from '../../../test/support/postgres';
import { ordinaryOutcome } from '../record';
import { BooksWriter, type BooksUser, writeBooks } from './books-writer';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const MARKUP_PPM = 1_100_000;

/**
 * Fills books with every kind of entry. Covers budgets, mark-ups, tags, fees, daily sums, top-ups with a refund and a
 * dispute, promotions, a raise, a merge and a dead node.
 */
export const fillBooks = (database: TestDatabase): Promise<void> =>
  writeBooks(database, (...parts) => new FilledBooksWriter(...parts));

class FilledBooksWriter extends BooksWriter {
  async write(): Promise<void> {
    const operator = await this.createUser('operator', 'platform_admin');
    const [north, south, west] = [
      await this.organisation(operator, 'north'),
      await this.organisation(operator, 'south'),
      await this.organisation(operator, 'west'),
    ];
    const ann = await this.createUser('ann', 'org_owner', north);
    const ben = await this.createUser('ben', 'org_owner', south);
    const cara = await this.createUser('cara', 'org_owner', west);
    await this.makePayer(north, ann);
    await this.makePayer(south, ben);
    await this.makePayer(west, cara);
    await this.payments(ann, ben, cara, operator);
    await this.promotions(ann, ben, operator);
    await this.spending(operator, { north, south, ann, ben });
    await this.merge(operator, south, west, ben);
    await this.invoices(operator);
    await this.rerate();
    await this.addDeadNode(ben);
    await this.app.application.get(MoneyWatch, { strict: false }).verify(true);
  }

  private async payments(
    ann: BooksUser,
    ben: BooksUser,
    cara: BooksUser,
    operator: BooksUser,
  ): Promise<void> {
    const refundedIntent = await this.topUp(ann, 100);
    await this.topUp(ann, 20);
    const disputedIntent = await this.topUp(ben, 50);
    const delayedIntent = await this.topUp(ben, 40);
    await this.topUp(cara, 30);
    const { account } = this.processor;
    account.refundsAndDisputes.refund(refundedIntent, 1_000);
    account.refundsAndDisputes.dispute(disputedIntent);
    await this.deliverAll();
    await this.refund(operator, delayedIntent, '7.5');
    await this.adjust(operator, ben, '100', 'credit');
    await this.post(operator, `/dashboard/admin/users/${ann.id}/credit-limit`, { credit_limit: '25' });
  }

  private async promotions(ann: BooksUser, ben: BooksUser, operator: BooksUser): Promise<void> {
    for (const [person, ends] of [
      [ann, false],
      [ben, true],
    ] as const) {
      const id = await this.promotion(operator, person, '50');
      if (ends) await this.post(operator, `/dashboard/admin/promotions/${id}/update`, { end: true });
    }
  }

  private async spending(
    operator: BooksUser,
    { north, south, ann, ben }: { north: number; south: number; ann: BooksUser; ben: BooksUser },
  ): Promise<void> {
    const percent = (MARKUP_PPM - 1_000_000) / 10_000;
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
    const budgetLimits = new Limits(this.app.database);
    await this.app.database.transaction(async (tx) => {
      await budgetLimits.set(tx, { kind: 'user', id: ben.id }, { period: 'monthly', limit: parseUsd('500') });
      await budgetLimits.set(
        tx,
        { kind: 'user_budget', id: ben.id },
        { period: 'rolling', limit: parseUsd('400') },
      );
      await budgetLimits.set(
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
    await this.addEarlierRecords(north, project, ann, ben);
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

  /** Adds records of earlier days as nodes settled them, and sums them as the nightly job does. */
  private async addEarlierRecords(
    organisationId: number,
    projectId: number,
    ann: BooksUser,
    ben: BooksUser,
  ): Promise<void> {
    const { database } = this.app;
    const now = Date.now();
    await database.query('SELECT ensure_request_record_partitions($1::date, 3)', [
      new Date(now - 40 * DAY_MS).toISOString(),
    ]);
    const resolution = this.app.application.get(CatalogueService, { strict: false }).resolve('sim-large');
    const price = resolution.kind === 'refused' ? undefined : resolution.lanes[0]?.price;
    if (price === undefined) throw new Error('the sandbox has a price for sim-large');
    const store = new PostgresMoneyStore(database);
    const usage = { ...NO_USAGE, inputTokens: 1_200, cacheReadTokens: 300, outputTokens: 250, calls: 1 };
    for (let day = 1; day <= 4; day += 1) {
      const records = [ann, ben].map((person, nodeIndex) => {
        const factor = null;
        return serialiseRecord(uuidv7(), now - day * 2 * DAY_MS - nodeIndex * HOUR_MS, {
          ...ordinaryOutcome(usage),
          model: 'sim-large',
          userId: person.id,
          walletId: person.id,
          organisationId: nodeIndex === 0 ? organisationId : null,
          projectId: nodeIndex === 0 ? projectId : null,
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

  /** Adds a payer by invoice who pays in two instalments, and one who left with a balance due. */
  private async invoices(operator: BooksUser): Promise<void> {
    for (const name of ['dora', 'emil']) {
      const person = await this.createUser(name, 'user');
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

  private async newestPayment({ id }: BooksUser): Promise<{ payment_id: number }> {
    const [row] = await this.app.database.query<{ payment_id: number }>(
      'SELECT max(id)::integer AS payment_id FROM invoice_payment WHERE payer_id = $1',
      [id],
    );
    return row ?? { payment_id: 0 };
  }

  /** Adds a node that keeps a journal but no longer sends heartbeats. */
  private async addDeadNode({ id }: BooksUser): Promise<void> {
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
