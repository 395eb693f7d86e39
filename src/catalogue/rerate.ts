import { usageColumns, usageOfRow } from '../audit';
import { costOf, fault, type PriceRates } from '../kernel';
import type { Database, Tx } from '../platform';
import { Price } from './entities';
import { ratesOf } from './price-codec';

export interface RerateOptions {
  readonly from: Date;
  /** Up to, but without, this instant. */
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
  /** What is owed on top of what was charged; negative: what was charged too much. */
  readonly deltaNano: bigint;
}

/** How the keeper of the ledger enters a difference; has to be idempotent by request id. */
export type ApplyDelta = (tx: Tx, delta: RerateDelta) => Promise<void>;

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
  const priced = await pricesFor(database, options.priceOverride ?? new Map());
  for await (const row of records(database, options.from, options.to)) {
    const storedNano = BigInt(row.cost_nano);
    const priceId = row.price_id === null ? null : Number(row.price_id);
    const recomputedNano = priceId === null ? 0n : costOf(usageOfRow(row), priced(priceId), row.price_factor);
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

async function pricesFor(database: Database, override: PriceOverride): Promise<(id: number) => PriceRates> {
  const stored = await database.source.manager.find(Price);
  const rates = new Map(stored.map((price) => [price.id, ratesOf(price)]));
  const priced = (id: number): PriceRates => {
    const found = rates.get(override.get(id) ?? id);
    if (found !== undefined) return found;
    throw fault('supplier_price_unresolved', { message: `There is no price ${override.get(id) ?? id}.` });
  };
  for (const id of override.keys()) priced(id);
  return priced;
}

interface RecordRow extends Readonly<Record<string, unknown>> {
  readonly request_id: string;
  readonly created_at: Date;
  readonly key_id: string | null;
  readonly organisation_id: string | null;
  readonly wallet_id: string | null;
  readonly price_id: string | null;
  readonly price_factor: number | null;
  readonly cost_nano: string;
}

const PAGE = 2_000;

/** Through a cursor: any number of records in bounded memory, all as of one instant, in one pass. */
async function* records(database: Database, from: Date, to: Date): AsyncGenerator<RecordRow, void> {
  const runner = database.source.createQueryRunner();
  try {
    await runner.startTransaction('REPEATABLE READ');
    // Applying a page of deltas may take longer than a forgotten transaction is given.
    await runner.query('SET LOCAL idle_in_transaction_session_timeout = 0');
    await runner.query(
      `DECLARE rerated NO SCROLL CURSOR FOR
       SELECT request_id, created_at, key_id, organisation_id, wallet_id, price_id, price_factor, cost_nano,
         ${usageColumns.join(', ')}
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
