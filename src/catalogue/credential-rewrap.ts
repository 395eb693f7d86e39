import { type Database, type MasterKey, rewrap, type Tx } from '../platform';
import { placeOf } from './credential';
import { ProviderCredential } from './credential.entity';

export interface RewrapSummary {
  readonly rewrapped: number;
  /** Rows that the old key did not open; they keep what they have. */
  readonly unreadable: readonly string[];
}

const BATCH = 100;

export interface RewrapOptions {
  readonly batch?: number;
  /** Puts a batch on record, in its transaction. */
  readonly record?: (tx: Tx, count: number) => Promise<void>;
}

/**
 * Puts every credential under another master key. Batches commit on their own, so an interrupted run is resumed by
 * running it again: rows that are done no longer carry the old key's name.
 */
export async function rewrapCredentials(
  database: Database,
  oldKey: MasterKey,
  newKey: MasterKey,
  { batch = BATCH, record }: RewrapOptions = {},
): Promise<RewrapSummary> {
  const unreadable: string[] = [];
  let rewrapped = 0;
  let after: string | null = null;
  for (;;) {
    const rows = await database.transaction(async (tx) => {
      const before = unreadable.length;
      const read = await rewrapBatch(tx, { oldKey, newKey, after, batch }, unreadable);
      const moved = read.length - (unreadable.length - before);
      if (moved > 0) await record?.(tx, moved);
      return read;
    });
    if (rows.length === 0) return { rewrapped: rewrapped - unreadable.length, unreadable };
    rewrapped += rows.length;
    after = rows.at(-1)?.id ?? null;
  }
}

interface BatchOptions {
  readonly oldKey: MasterKey;
  readonly newKey: MasterKey;
  readonly after: string | null;
  readonly batch: number;
}

async function rewrapBatch(
  tx: Tx,
  { oldKey, newKey, after, batch }: BatchOptions,
  unreadable: string[],
): Promise<ProviderCredential[]> {
  const rows = await tx
    .createQueryBuilder(ProviderCredential, 'row')
    .setLock('pessimistic_write')
    .where('row.key_id = :keyId AND row.disabled_at IS NULL', { keyId: oldKey.id })
    .andWhere('(:after::uuid IS NULL OR row.id > :after::uuid)', { after })
    .orderBy('row.id')
    .limit(batch)
    .getMany();
  for (const row of rows) {
    const wrapped = rewrap(row, placeOf(row), oldKey, newKey);
    if (wrapped.ok) await tx.update(ProviderCredential, { id: row.id }, wrapped.value);
    else unreadable.push(row.id);
  }
  return rows;
}
