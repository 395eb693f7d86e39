import { Injectable, Logger } from '@nestjs/common';
import { fault, type Fault, withDeadline } from '../../kernel';
import { Database, Metrics, RepeatingJob, type TableRow, Settings, StorageLimit } from '../../platform';
import type { StoredId, StoredContentKind } from '../../vendors';

/** Longer ids are not recorded. */
const MAX_ID_LENGTH = 256;
const MAX_IDS = 20_000;
const MAX_CACHED_IDS = 20_000;
const MAX_LOOKUP_MS = 5_000;
/** Maximum wait of a response's last byte for its ids. */
const MAX_WRITE_MS = 1_000;

const KIND_NAMES: Readonly<Record<StoredContentKind, string>> = {
  response: 'Previous response',
  item: 'Item',
  reasoning: 'Item',
  conversation: 'Conversation',
  container: 'Container',
  file: 'File',
  vector_store: 'Vector store',
  audio: 'Audio',
};

const ASK_OPERATOR = 'or ask the operator to share it with all keys (SHARED_CONTENT).';
const ADVICE: Readonly<Record<StoredContentKind, string>> = {
  response: 'Repeat the earlier items in input.',
  item: 'Repeat the item itself in its place.',
  reasoning: 'Leave the item out, or send it with its encrypted_content.',
  conversation: `Conversations are not created here: repeat the earlier items in input, ${ASK_OPERATOR}`,
  container: 'Leave it out to get a new container.',
  file: `Files are not uploaded here: send the content in the request, ${ASK_OPERATOR}`,
  vector_store: `Vector stores are not created here: send the content in the request, ${ASK_OPERATOR}`,
  audio: 'Send the transcript of the earlier answer instead.',
};

/** Error for an id that the key does not own, with the vendor's wording and code. */
export const idNotFoundError = (
  { id, kind, param }: StoredId,
  reason = 'This key was not given it.',
): Fault =>
  fault('not_found', {
    param,
    ...(kind === 'response' && { sentCode: 'previous_response_not_found' }),
    message: `${KIND_NAMES[kind]} with id '${id.slice(0, MAX_ID_LENGTH)}' not found. ${reason} ${ADVICE[kind]}`,
  });

/**
 * Ids of content that suppliers store in their accounts, per key whose responses contained them. Several keys share an
 * account, so a key's request is allowed to use only its own ids.
 */
@Injectable()
export class StoredIdsService {
  private readonly logger = new Logger(StoredIdsService.name);
  private readonly max = { bytes: MAX_IDS * MAX_ID_LENGTH, rows: MAX_IDS };
  private readonly limit = new StorageLimit(this.max);
  private readonly recentIds = new Set<string>();

  constructor(
    private readonly database: Database,
    private readonly metrics: Metrics,
    private readonly settings: Settings,
  ) {}

  async check(keyId: number, ids: readonly StoredId[]): Promise<void> {
    const { sharedContent } = this.settings;
    const unknown = ids.filter(
      ({ id }) => !sharedContent.includes(id) && !this.recentIds.has(entryOf(keyId, id)),
    );
    if (unknown.length === 0) return;
    const ownIds = new Set(await this.find(keyId, unknown));
    for (const stored of unknown) if (!ownIds.has(stored.id)) throw idNotFoundError(stored);
  }

  /** Settles when every node can find the ids, or after the maximum wait. */
  async record(keyId: number, supplier: string, ids: ReadonlyMap<string, StoredContentKind>): Promise<void> {
    const rows = [...ids].filter(([id]) => id.length <= MAX_ID_LENGTH);
    if (rows.length === 0) return;
    for (const [id] of rows) this.remember(keyId, id);
    try {
      await withDeadline(MAX_WRITE_MS, this.write(keyId, supplier, rows));
    } catch (error) {
      this.logger.warn(`Ids of stored content are not known to other nodes: ${String(error)}`);
    }
  }

  @RepeatingJob({ name: 'stored-ids', cron: '50 * * * *' })
  async removeExpired(): Promise<void> {
    await this.database.query('DELETE FROM stored_id WHERE expires_at <= clock_timestamp()');
    await this.trim(null, MAX_IDS);
  }

  private async find(keyId: number, ids: readonly StoredId[]): Promise<string[]> {
    try {
      const rows = await withDeadline(
        MAX_LOOKUP_MS,
        this.database.rows<TableRow<'stored_id', 'id'>>(
          'SELECT id FROM stored_id WHERE key_id = $1 AND id = ANY ($2) AND expires_at > clock_timestamp()',
          [keyId, ids.map(({ id }) => id)],
        ),
      );
      return rows.map(({ id }) => id);
    } catch (cause) {
      const message = 'The ids in the request cannot be looked up right now. Try again.';
      throw fault('service_unavailable', { message, retryAfterSeconds: 1, cause });
    }
  }

  /** Stores nothing for a key that was deleted meanwhile. */
  private async write(
    keyId: number,
    supplier: string,
    rows: readonly (readonly [id: string, kind: StoredContentKind])[],
  ): Promise<void> {
    const remaining = this.limit.add(keyId, { bytes: 0, rows: rows.length });
    if (remaining !== null) await this.trim(keyId, remaining.rows);
    await this.database.query(
      `INSERT INTO stored_id (key_id, id, kind, supplier)
       SELECT api_key.id, given.id, given.kind, $2
         FROM unnest($3::text[], $4::text[]) AS given (id, kind) JOIN api_key ON api_key.id = $1
       ON CONFLICT ON CONSTRAINT stored_id_pkey DO UPDATE SET
         supplier = excluded.supplier, given_at = DEFAULT, expires_at = DEFAULT`,
      [keyId, supplier, rows.map(([id]) => id), rows.map(([, kind]) => kind)],
    );
  }

  /** Trims all keys if the key is null. */
  private async trim(keyId: number | null, max: number): Promise<void> {
    const [removed] = await this.database.query<{ count: number }>(
      `WITH gone AS (DELETE FROM stored_id WHERE (key_id, id) IN (
         SELECT key_id, id FROM (
           SELECT key_id, id, row_number() OVER (PARTITION BY key_id ORDER BY given_at DESC, id) AS place
             FROM stored_id WHERE $1::integer IS NULL OR key_id = $1) latest
          WHERE place > $2) RETURNING 1)
       SELECT count(*)::integer AS count FROM gone`,
      [keyId, max],
    );
    if (removed !== undefined && removed.count > 0)
      this.metrics.storageLimited.inc({ kind: 'stored_ids' }, removed.count);
  }

  private remember(keyId: number, id: string): void {
    const entry = entryOf(keyId, id);
    this.recentIds.delete(entry);
    this.recentIds.add(entry);
    if (this.recentIds.size <= MAX_CACHED_IDS) return;
    const oldest = this.recentIds.keys().next();
    if (!oldest.done) this.recentIds.delete(oldest.value);
  }
}

const entryOf = (keyId: number, id: string): string => `${keyId} ${id}`;
