import { usageColumns, usageOfRow } from '../audit';
import { costOf, fault, type PriceRates, type Surcharge, withSurcharges } from '../kernel';
import type { Database, StoredRow } from '../platform';
import { Price } from './entities';
import { ratesOf } from './price-codec';

export interface RerateOptions {
  readonly from: Date;
  /** Exclusive upper bound. */
  readonly to: Date;
  /** Prices records that were charged by the first price at the second one. */
  readonly priceOverride?: PriceOverride;
}

export type PriceOverride = ReadonlyMap<number, number>;

/** A record, priced again. A non-zero delta without an override means that a record or price is wrong. */
export interface RerateDelta {
  readonly requestId: string;
  readonly createdAt: Date;
  readonly keyId: number | null;
  readonly organisationId: number | null;
  readonly walletId: number | null;
  readonly priceId: number | null;
  readonly storedNano: bigint;
  readonly recomputedNano: bigint;
  /** Owed in addition to the charge; negative if too much was charged. */
  readonly deltaNano: bigint;
}

export interface RerateSummary {
  readonly records: number;
  readonly differences: number;
  readonly deltaNano: bigint;
  /** Non-zero deltas; the null key collects records without a key or organisation. */
  readonly byKey: ReadonlyMap<number | null, bigint>;
  readonly byOrganisation: ReadonlyMap<number | null, bigint>;
}

/**
 * Prices every stored record of a time span again and yields the results one by one. Nothing is written: run it through
 * `summariseRerate` for the total, then again to apply it.
 */
export async function* rerate(database: Database, options: RerateOptions): AsyncGenerator<RerateDelta, void> {
  const override = options.priceOverride ?? new Map<number, number>();
  const prices = await readPrices(database);
  const ratesFor = (id: number): PriceRates => {
    const rates = prices.get(override.get(id) ?? id);
    if (rates !== undefined) return rates;
    throw fault('supplier_price_unresolved', { message: `There is no price ${override.get(id) ?? id}.` });
  };
  for (const id of override.keys()) ratesFor(id);
  for await (const row of records(database, options.from.toISOString(), options.to.toISOString())) {
    const storedNano = BigInt(row.cost_nano);
    const priceId = parseId(row.price_id);
    const recomputedNano = costAt(row, priceId === null ? null : ratesFor(priceId));
    yield {
      requestId: row.request_id,
      createdAt: row.created_at,
      keyId: parseId(row.key_id),
      organisationId: parseId(row.organisation_id),
      walletId: parseId(row.wallet_id),
      priceId,
      storedNano,
      recomputedNano,
      deltaNano: recomputedNano - storedNano,
    };
  }
}

export async function summariseRerate(deltas: AsyncIterable<RerateDelta>): Promise<RerateSummary> {
  const byKey = new Map<number | null, bigint>();
  const byOrganisation = new Map<number | null, bigint>();
  let records = 0;
  let differences = 0;
  let deltaNano = 0n;
  for await (const delta of deltas) {
    records += 1;
    if (delta.deltaNano === 0n) continue;
    differences += 1;
    deltaNano += delta.deltaNano;
    byKey.set(delta.keyId, (byKey.get(delta.keyId) ?? 0n) + delta.deltaNano);
    byOrganisation.set(
      delta.organisationId,
      (byOrganisation.get(delta.organisationId) ?? 0n) + delta.deltaNano,
    );
  }
  return { records, differences, deltaNano, byKey, byOrganisation };
}

export interface MispricedRecord {
  readonly requestId: string;
  readonly storedNano: bigint;
  /** Null if the price no longer exists. */
  readonly recomputedNano: bigint | null;
}

export async function* mispricedRecords(database: Database): AsyncGenerator<MispricedRecord, void> {
  const prices = await readPrices(database);
  for await (const row of records(database, '-infinity', 'infinity')) {
    const priceId = parseId(row.price_id);
    const rates = priceId === null ? null : prices.get(priceId);
    const storedNano = BigInt(row.cost_nano);
    const recomputedNano = rates === undefined ? null : costAt(row, rates);
    if (recomputedNano !== storedNano) yield { requestId: row.request_id, storedNano, recomputedNano };
  }
}

async function readPrices(database: Database): Promise<ReadonlyMap<number, PriceRates>> {
  const stored = await database.source.manager.find(Price);
  return new Map(stored.map((price) => [price.id, ratesOf(price)]));
}

const costAt = (row: RecordRow, rates: PriceRates | null): bigint =>
  rates === null
    ? 0n
    : costOf(
        usageOfRow(row),
        withSurcharges(rates, row.surcharges as readonly Surcharge[] | null),
        row.price_factor,
      );

type RecordRow = StoredRow<'request_record', typeof RECORD> & Readonly<Record<string, unknown>>;

const RECORD =
  'request_id, created_at, key_id, organisation_id, wallet_id, price_id, price_factor, surcharges, cost_nano';

const PAGE_SIZE = 2_000;

async function* records(database: Database, from: string, to: string): AsyncGenerator<RecordRow, void> {
  const runner = database.source.createQueryRunner();
  try {
    await runner.startTransaction('REPEATABLE READ');
    // Applying a page of deltas can take longer than the timeout of an idle transaction.
    await runner.query('SET LOCAL idle_in_transaction_session_timeout = 0');
    await runner.query(
      `DECLARE rerated NO SCROLL CURSOR FOR
       SELECT ${RECORD}, ${usageColumns.join(', ')}
         FROM request_record WHERE created_at >= $1 AND created_at < $2`,
      [from, to],
    );
    for (;;) {
      const page = (await runner.query(`FETCH ${PAGE_SIZE} FROM rerated`)) as RecordRow[];
      yield* page;
      if (page.length < PAGE_SIZE) return;
    }
  } finally {
    if (runner.isTransactionActive) await runner.rollbackTransaction();
    await runner.release();
  }
}

function parseId(text: string | null): number | null {
  return text === null ? null : Number(text);
}
