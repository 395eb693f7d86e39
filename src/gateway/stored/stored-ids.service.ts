import { Injectable, Logger } from '@nestjs/common';
import { fault, type Fault, withDeadline } from '../../kernel';
import { Database, Metrics, RepeatingJob, type Row, Settings, StorageLimit } from '../../platform';
import type { StoredId, StoredKind } from '../../vendors';

/** Longer ids are not recorded. */
const MAX_ID_LENGTH = 256;
const MAX_IDS = 20_000;
const MAX_REMEMBERED = 20_000;
const LOOK_UP_MS = 5_000;
/** The last byte of an answer waits no longer for its ids. */
const WRITE_MS = 1_000;

const NAMES: Readonly<Record<StoredKind, string>> = {
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
const ADVICE: Readonly<Record<StoredKind, string>> = {
  response: 'Repeat the earlier items in input.',
  item: 'Repeat the item itself in its place.',
  reasoning: 'Leave the item out, or send it with its encrypted_content.',
  conversation: `Conversations are not created here: repeat the earlier items in input, ${ASK_OPERATOR}`,
  container: 'Leave it out to get a new container.',
  file: `Files are not uploaded here: send the content in the request, ${ASK_OPERATOR}`,
  vector_store: `Vector stores are not created here: send the content in the request, ${ASK_OPERATOR}`,
  audio: 'Send the transcript of the earlier answer instead.',
};

/** The refusal of an id that the key was not given, in the words and with the code of the vendor. */
export const notGiven = ({ id, kind, param }: StoredId, why = 'This key was not given it.'): Fault =>
  fault('not_found', {
    param,
    ...(kind === 'response' && { sentCode: 'previous_response_not_found' }),
    message: `${NAMES[kind]} with id '${id.slice(0, MAX_ID_LENGTH)}' not found. ${why} ${ADVICE[kind]}`,
  });

/**
 * Ids of content that suppliers store in their account, for the key whose answers handed them out. Several keys share
 * an account, so that only its own ids may reach it with a key's request.
 */
@Injectable()
export class StoredIds {
  private readonly logger = new Logger(StoredIds.name);
  private readonly max = { bytes: MAX_IDS * MAX_ID_LENGTH, rows: MAX_IDS };
  private readonly limit = new StorageLimit(this.max);
  /** The latest of this node, which are found without the database. */
  private readonly remembered = new Set<string>();

  constructor(
    private readonly database: Database,
    private readonly metrics: Metrics,
    private readonly settings: Settings,
  ) {}

  /** Throws unless the key was given each of the ids, or the operator shares it. */
  async check(keyId: number, ids: readonly StoredId[]): Promise<void> {
    const { sharedContent } = this.settings;
    const unknown = ids.filter(
      ({ id }) => !sharedContent.includes(id) && !this.remembered.has(entryOf(keyId, id)),
    );
    if (unknown.length === 0) return;
    const given = new Set(await this.find(keyId, unknown));
    for (const stored of unknown) if (!given.has(stored.id)) throw notGiven(stored);
  }

  /** Settles when every node can find the ids, or after a second. */
  async record(keyId: number, supplier: string, ids: ReadonlyMap<string, StoredKind>): Promise<void> {
    const rows = [...ids].filter(([id]) => id.length <= MAX_ID_LENGTH);
    if (rows.length === 0) return;
    for (const [id] of rows) this.remember(keyId, id);
    try {
      await withDeadline(WRITE_MS, this.write(keyId, supplier, rows));
    } catch (error) {
      this.logger.warn(`Ids of stored content are not known to other nodes: ${String(error)}`);
    }
  }

  /** Removes ids that suppliers no longer keep, and the oldest of keys that have too many. */
  @RepeatingJob({ name: 'stored-ids', cron: '50 * * * *' })
  async removeExpired(): Promise<void> {
    await this.database.query('DELETE FROM stored_id WHERE expires_at <= clock_timestamp()');
    await this.trim(null, MAX_IDS);
  }

  private async find(keyId: number, ids: readonly StoredId[]): Promise<string[]> {
    try {
      const rows = await withDeadline(
        LOOK_UP_MS,
        this.database.rows<Row<'stored_id', 'id'>>(
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

  /** A key that was deleted meanwhile stores nothing. */
  private async write(
    keyId: number,
    supplier: string,
    rows: readonly (readonly [id: string, kind: StoredKind])[],
  ): Promise<void> {
    const room = this.limit.add(keyId, { bytes: 0, rows: rows.length });
    if (room !== null) await this.trim(keyId, room.rows);
    await this.database.query(
      `INSERT INTO stored_id (key_id, id, kind, supplier)
       SELECT api_key.id, given.id, given.kind, $2
         FROM unnest($3::text[], $4::text[]) AS given (id, kind) JOIN api_key ON api_key.id = $1
       ON CONFLICT ON CONSTRAINT stored_id_pkey DO UPDATE SET
         supplier = excluded.supplier, given_at = DEFAULT, expires_at = DEFAULT`,
      [keyId, supplier, rows.map(([id]) => id), rows.map(([, kind]) => kind)],
    );
  }

  /** A null key stands for every key. */
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
    this.remembered.delete(entry);
    this.remembered.add(entry);
    if (this.remembered.size <= MAX_REMEMBERED) return;
    const oldest = this.remembered.keys().next();
    if (!oldest.done) this.remembered.delete(oldest.value);
  }
}

const entryOf = (keyId: number, id: string): string => `${keyId} ${id}`;
