import { usageColumns, usageOfRow } from '../audit';
import { costOf, fault, type PriceRates, type Surcharge, surcharged } from '../kernel';
import type { Database, Stored } from '../platform';
import { Price } from './entities';
import { ratesOf } from './price-codec';

export interface RerateOptions {
  readonly from: Date;
  /** Records count up to this instant, but not at it. */
  readonly to: Date;
  /** Records that were paid by the first price, as if they had been paid by the second. */
  readonly priceOverride?: PriceOverride;
}

export type PriceOverride = ReadonlyMap<number, number>;

/** One record, priced again. A delta other than zero without an override means that a record or price is wrong. */
export interface RerateDelta {
  readonly requestId: string;
  readonly createdAt: Date;
  readonly keyId: number | null;
  readonly organisationId: number | null;
  readonly walletId: number | null;
  readonly priceId: number | null;
  readonly storedNano: bigint;
  readonly recomputedNano: bigint;
  /** This is owed on top of the charge; a negative amount was charged too much. */
  readonly deltaNano: bigint;
}

export interface RerateSummary {
  readonly records: number;
  readonly differences: number;
  readonly deltaNano: bigint;
  /** Deltas that are not zero; null is what no key or organisation can be named for. */
  readonly byKey: ReadonlyMap<number | null, bigint>;
  readonly byOrganisation: ReadonlyMap<number | null, bigint>;
}

/**
 * Prices every stored record of a span of time again and answers them one by one. Nothing is written: run it
 * once through `summariseRerate` to see what it would come to, then again to apply it.
 */
export async function* rerate(database: Database, options: RerateOptions): AsyncGenerator<RerateDelta, void> {
  const override = options.priceOverride ?? new Map<number, number>();
  const known = await knownPrices(database);
  const priced = (id: number): PriceRates => {
    const found = known.get(override.get(id) ?? id);
    if (found !== undefined) return found;
    throw fault('supplier_price_unresolved', { message: `There is no price ${override.get(id) ?? id}.` });
  };
  for (const id of override.keys()) priced(id);
  for await (const row of records(database, options.from.toISOString(), options.to.toISOString())) {
    const storedNano = BigInt(row.cost_nano);
    const priceId = idIn(row.price_id);
    const recomputedNano = costAt(row, priceId === null ? null : priced(priceId));
    yield {
      requestId: row.request_id,
      createdAt: row.created_at,
      keyId: idIn(row.key_id),
      organisationId: idIn(row.organisation_id),
      walletId: idIn(row.wallet_id),
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

/** A record that does not cost what its usage does at its price. */
export interface Mispriced {
  readonly requestId: string;
  readonly storedNano: bigint;
  /** Null: its price is gone. */
  readonly recomputedNano: bigint | null;
}

/** It looks at all records that are kept, in bounded memory. */
export async function* mispricedRecords(database: Database): AsyncGenerator<Mispriced, void> {
  const known = await knownPrices(database);
  for await (const row of records(database, '-infinity', 'infinity')) {
    const priceId = idIn(row.price_id);
    const rates = priceId === null ? null : known.get(priceId);
    const storedNano = BigInt(row.cost_nano);
    const recomputedNano = rates === undefined ? null : costAt(row, rates);
    if (recomputedNano !== storedNano) yield { requestId: row.request_id, storedNano, recomputedNano };
  }
}

async function knownPrices(database: Database): Promise<ReadonlyMap<number, PriceRates>> {
  const stored = await database.source.manager.find(Price);
  return new Map(stored.map((price) => [price.id, ratesOf(price)]));
}

const costAt = (row: RecordRow, rates: PriceRates | null): bigint =>
  rates === null
    ? 0n
    : costOf(
        usageOfRow(row),
        surcharged(rates, row.surcharges as readonly Surcharge[] | null),
        row.price_factor,
      );

type RecordRow = Stored<'request_record', typeof RECORD> & Readonly<Record<string, unknown>>;

const RECORD =
  'request_id, created_at, key_id, organisation_id, wallet_id, price_id, price_factor, surcharges, cost_nano';

const PAGE = 2_000;

/** A cursor reads any number of records in bounded memory, all as of one instant, in one pass. */
async function* records(database: Database, from: string, to: string): AsyncGenerator<RecordRow, void> {
  const runner = database.source.createQueryRunner();
  try {
    await runner.startTransaction('REPEATABLE READ');
    // Applying a page of deltas may take longer than a forgotten transaction is given.
    await runner.query('SET LOCAL idle_in_transaction_session_timeout = 0');
    await runner.query(
      `DECLARE rerated NO SCROLL CURSOR FOR
       SELECT ${RECORD}, ${usageColumns.join(', ')}
         FROM request_record WHERE created_at >= $1 AND created_at < $2`,
      [from, to],
    );
    for (;;) {
      const page = (await runner.query(`FETCH ${PAGE} FROM rerated`)) as RecordRow[];
      yield* page;
      if (page.length < PAGE) return;
    }
  } finally {
    if (runner.isTransactionActive) await runner.rollbackTransaction();
    await runner.release();
  }
}

function idIn(text: string | null): number | null {
  return text === null ? null : Number(text);
}
