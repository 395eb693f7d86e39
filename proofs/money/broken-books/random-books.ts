import { MoneyWatch, WalletHandover } from '#product/billing';
import type { TestApp } from '../../../test/support/app';
import { signIn } from '../../../test/support/users';
import type { TestDatabase } from '../../../test/support/postgres';
import type { ProcessorSimulator } from '../../../simulator/processor/processor-simulator';
import { BooksWriter, type BooksUser, writeBooks } from './books-writer';

const OPERATION_COUNT = 24;
const MAX_MERGES = 2;

/** Intact books written by random operations of the product, determined by the seed. */
export const writeRandomBooks = (database: TestDatabase, seed: number): Promise<void> =>
  writeBooks(database, (app, processor, same) => new RandomBooksWriter(app, processor, same, seed));

/** Seeded generator of numbers in [0, 1) (mulberry32). */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

interface PayingTeam {
  readonly organisation: number;
  owner: BooksUser;
  key: string;
}

class RandomBooksWriter extends BooksWriter {
  private readonly random: () => number;
  private operator!: BooksUser;
  private teams: PayingTeam[] = [];
  private payments: string[] = [];
  private disputes: string[] = [];
  private promotionIds: string[] = [];
  private merges = 0;

  constructor(app: TestApp, processor: ProcessorSimulator, database: TestDatabase, seed: number) {
    super(app, processor, database);
    this.random = randomNumbers(seed);
  }

  async write(): Promise<void> {
    this.operator = await this.createUser('operator', 'platform_admin');
    for (const name of ['north', 'south', 'west', 'east']) {
      const organisation = await this.organisation(this.operator, name);
      const owner = await this.createUser(name, 'org_owner', organisation);
      await this.makePayer(organisation, owner);
      this.payments.push(await this.topUp(owner, this.between(20, 200)));
      this.teams.push({ organisation, owner, key: await this.key(owner, organisation, null, {}) });
    }
    const operations = [
      () => this.anyCall(),
      () => this.anyCall(),
      () => this.anyCall(),
      async () => void this.payments.push(await this.topUp(this.team().owner, this.between(5, 300))),
      () => this.anyRefund(),
      () => this.refundByOperator(),
      () => this.anyDispute(),
      () => this.endAnyDispute(),
      () => this.adjust(this.operator, this.team().owner, `${this.between(1, 90)}.25`, 'credit'),
      () => this.adjust(this.operator, this.team().owner, `${this.between(1, 30)}`, 'debit'),
      () => this.anyPromotion(),
      () => this.endAnyPromotion(),
      () => this.anyMerge(),
    ];
    for (let completed = 0; completed < OPERATION_COUNT; completed += 1) await this.pick(operations)();
    await this.anyMerge();
    await this.anyCall();
    if (this.random() < 0.5) await this.rerate();
    await this.app.application.get(WalletHandover, { strict: false }).followAll();
    await this.app.application.get(MoneyWatch, { strict: false }).verify(true);
  }

  private between(min: number, max: number): number {
    return min + Math.floor(this.random() * (max - min + 1));
  }

  private pick<T>(values: readonly T[]): T {
    return values[this.between(0, values.length - 1)]!;
  }

  private readonly team = (): PayingTeam => this.pick(this.teams);

  private async anyCall(): Promise<void> {
    const model = this.pick(['sim-large', 'sim-small']);
    await this.call(
      this.team().key,
      { model, ...(this.random() < 0.5 ? { user: 'someone' } : {}) },
      `[[tokens=${this.between(1, 200)}]] [[cached=${this.between(0, 100)}]]`,
      [200, 402, 403],
    );
  }

  private async anyRefund(): Promise<void> {
    const intent = this.pick(this.payments);
    const centsLeft = await this.centsLeft(intent);
    if (centsLeft < 2) return;
    this.processor.account.refundsAndDisputes.refund(intent, this.between(1, centsLeft));
    await this.deliverAll();
  }

  private async refundByOperator(): Promise<void> {
    const intent = this.pick(this.payments);
    const centsLeft = await this.centsLeft(intent);
    if (centsLeft > 100)
      await this.refund(this.operator, intent, `${this.between(1, Math.floor(centsLeft / 100))}`);
  }

  private async centsLeft(intent: string): Promise<number> {
    const [row] = await this.app.database.query<{ cents: number }>(
      `SELECT (gross_cents - refunded_cents - disputed_cents)::integer AS cents FROM payment WHERE payment_intent_id = $1`,
      [intent],
    );
    return row?.cents ?? 0;
  }

  private async anyDispute(): Promise<void> {
    const intent = this.payments[this.between(0, this.payments.length - 1)]!;
    if ((await this.centsLeft(intent)) < 2) return;
    this.payments = this.payments.filter((payment) => payment !== intent);
    this.payments.push(await this.topUp(this.team().owner, this.between(5, 50)));
    this.disputes.push(this.processor.account.refundsAndDisputes.dispute(intent).id);
    await this.deliverAll();
  }

  private async endAnyDispute(): Promise<void> {
    const dispute = this.disputes.pop();
    if (dispute === undefined) return;
    this.processor.account.refundsAndDisputes.closeDispute(dispute, this.pick(['won', 'lost'] as const));
    await this.deliverAll();
  }

  private async anyPromotion(): Promise<void> {
    const amount = `${this.between(1, 60)}`;
    this.promotionIds.push(await this.promotion(this.operator, this.team().owner, amount));
  }

  private async endAnyPromotion(): Promise<void> {
    const id = this.promotionIds.pop();
    if (id === undefined) return;
    await this.post(this.operator, `/dashboard/admin/promotions/${id}/update`, { end: true });
  }

  /** Members of the organisation that is merged away are signed out. */
  private async anyMerge(): Promise<void> {
    const [target, source] = this.teams;
    if (target === undefined || source === undefined || this.merges === MAX_MERGES) return;
    this.merges += 1;
    await this.merge(this.operator, target.organisation, source.organisation, target.owner);
    source.owner = { ...source.owner, cookie: await signIn(this.app, source.owner.id) };
    this.teams = [...this.teams.filter((team) => team !== source)];
  }
}
