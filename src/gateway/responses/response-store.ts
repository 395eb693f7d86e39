import { Injectable } from '@nestjs/common';
import {
  Database,
  Metrics,
  packSealed,
  RepeatingJob,
  type TableRow,
  type SealedColumn,
  SecretBox,
  type SecretLocation,
  Settings,
  StorageLimit,
  type StoredAmount,
  unpackSealed,
} from '../../platform';

export interface StoredResponse {
  readonly keyId: number;
  readonly responseId: string;
  readonly answer: Buffer;
  /** The complete conversation before it as a JSON list of items; null if not requested or too large. */
  readonly input: Buffer | null;
}

export interface NewStoredResponse extends StoredResponse {
  readonly itemIds: readonly string[];
}

interface SealedResponse extends NewStoredResponse {
  readonly bytes: number;
}

type StoredResponseRow = TableRow<'kept_response', 'response_id, answer, input'>;

const TABLE = 'kept_response';
const BATCH_SIZE = 100;
/** Maximum responses per key, in addition to the size limit of the settings. */
const MAX_RESPONSES = 20_000;

/** Stores responses in PostgreSQL, encrypted, for one day by the database's clock. */
@Injectable()
export class ResponseStore {
  private readonly max: StoredAmount;
  private readonly limit: StorageLimit;

  constructor(
    private readonly database: Database,
    private readonly box: SecretBox,
    private readonly metrics: Metrics,
    settings: Settings,
  ) {
    this.max = { bytes: settings.responsesStoreKeyLimitBytes, rows: MAX_RESPONSES };
    this.limit = new StorageLimit(this.max);
  }

  /** Writes the batch in one statement; ids must be unique. Stores nothing for a key deleted meanwhile. */
  async write(batch: readonly NewStoredResponse[]): Promise<void> {
    const sealed = batch.map((response) => this.sealResponse(response));
    await this.enforceLimits(sealed);
    const rows = sealed.map(({ keyId, responseId, itemIds, bytes, answer, input }) => [
      keyId,
      responseId,
      itemIds,
      bytes,
      answer,
      input,
    ]);
    const valueRows = rows.map((row, index) => {
      const [key, id, items, bytes, answer, input] = row.map(
        (_, column) => `$${index * row.length + column + 1}`,
      );
      return `(${index}, ${key}::integer, ${id}::text, ${items}::text[], ${bytes}::bigint, ${answer}::bytea, ${input}::bytea)`;
    });
    await this.database.query(
      `WITH fresh AS (
         SELECT fresh.* FROM (VALUES ${valueRows.join(', ')})
             AS fresh (place, key_id, response_id, item_ids, bytes, answer, input)
           JOIN api_key ON api_key.id = fresh.key_id),
       kept AS (
         INSERT INTO kept_response (key_id, response_id, bytes, answer, input)
         SELECT key_id, response_id, bytes, answer, input FROM fresh
         ON CONFLICT ON CONSTRAINT kept_response_pkey DO UPDATE SET
           bytes = excluded.bytes, answer = excluded.answer, input = excluded.input,
           kept_at = DEFAULT, expires_at = DEFAULT)
       INSERT INTO kept_response_item (key_id, item_id, response_id)
       SELECT DISTINCT ON (key_id, item_id) key_id, item_id, response_id
         FROM fresh, unnest(item_ids) AS item_id ORDER BY key_id, item_id, place DESC
       ON CONFLICT ON CONSTRAINT kept_response_item_pkey DO UPDATE SET response_id = excluded.response_id`,
      rows.flat(),
    );
  }

  /** Finds responses by their ids or by the ids of their items. Only the former include the input. */
  async find(
    keyId: number,
    responseIds: readonly string[],
    itemIds: readonly string[],
  ): Promise<StoredResponse[]> {
    const ownerIds = itemIds.length === 0 ? [] : await this.ownersOf(keyId, itemIds);
    const rows = await this.database.rows<StoredResponseRow>(
      `SELECT response_id, answer, CASE WHEN response_id = ANY ($3) THEN input END AS input
         FROM kept_response
        WHERE key_id = $1 AND response_id = ANY ($2) AND expires_at > clock_timestamp()`,
      [keyId, [...responseIds, ...ownerIds], responseIds],
    );
    return rows.flatMap((row) => this.openResponse(keyId, row) ?? []);
  }

  private async ownersOf(keyId: number, itemIds: readonly string[]): Promise<string[]> {
    const rows = await this.database.rows<TableRow<'kept_response_item', 'response_id'>>(
      'SELECT DISTINCT response_id FROM kept_response_item WHERE key_id = $1 AND item_id = ANY ($2)',
      [keyId, itemIds],
    );
    return rows.map(({ responseId }) => responseId);
  }

  async remove(keyId: number, responseId: string): Promise<boolean> {
    const [row] = await this.database.query<{ gone: number }>(
      `WITH gone AS (DELETE FROM kept_response
         WHERE key_id = $1 AND response_id = $2 AND expires_at > clock_timestamp() RETURNING 1)
       SELECT count(*)::integer AS gone FROM gone`,
      [keyId, responseId],
    );
    return (row?.gone ?? 0) > 0;
  }

  @RepeatingJob({ name: 'kept-responses', cron: '5-59/10 * * * *' })
  async removeExpired(signal: AbortSignal): Promise<number> {
    let removed = 0;
    while (!signal.aborted) {
      const [row] = await this.database.query<{ count: number }>(
        `WITH gone AS (
           DELETE FROM kept_response WHERE (key_id, response_id) IN (
             SELECT key_id, response_id FROM kept_response WHERE expires_at <= clock_timestamp()
              ORDER BY expires_at LIMIT ${BATCH_SIZE} FOR UPDATE SKIP LOCKED) RETURNING 1)
         SELECT count(*)::integer AS count FROM gone`,
      );
      const count = row?.count ?? 0;
      removed += count;
      if (count < BATCH_SIZE) break;
    }
    if (!signal.aborted) await this.trim(null, this.max);
    return removed;
  }

  /** Removes the oldest responses of the batch's keys before a key exceeds its limit. */
  private async enforceLimits(batch: readonly SealedResponse[]): Promise<void> {
    for (const [keyId, newResponses] of Map.groupBy(batch, (response) => response.keyId)) {
      const bytes = newResponses.reduce((sum, response) => sum + response.bytes, 0);
      const remaining = this.limit.add(keyId, { bytes, rows: newResponses.length });
      if (remaining !== null) await this.trim(keyId, remaining);
    }
  }

  /** Trims all keys if the key is null. */
  private async trim(keyId: number | null, { bytes, rows }: StoredAmount): Promise<void> {
    const [removed] = await this.database.query<{ count: number }>(
      `WITH gone AS (DELETE FROM kept_response WHERE (key_id, response_id) IN (
         SELECT key_id, response_id FROM (
           SELECT key_id, response_id,
                  sum(bytes) OVER latest AS bytes_so_far, row_number() OVER latest AS answers_so_far
             FROM kept_response WHERE $1::integer IS NULL OR key_id = $1
           WINDOW latest AS (PARTITION BY key_id ORDER BY kept_at DESC, response_id
                             ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)) kept
          WHERE bytes_so_far > $2 OR answers_so_far > $3) RETURNING 1)
       SELECT count(*)::integer AS count FROM gone`,
      [keyId, bytes, rows],
    );
    if (removed !== undefined && removed.count > 0)
      this.metrics.storageLimited.inc({ kind: 'responses' }, removed.count);
  }

  private sealResponse(response: NewStoredResponse): SealedResponse {
    const { keyId, responseId } = response;
    const seal = (content: Buffer, field: string): Buffer =>
      packSealed(this.box.seal(content, secretPlace(keyId, responseId, field)));
    const answer = seal(response.answer, 'answer');
    const input = response.input && seal(response.input, 'input');
    return { ...response, answer, input, bytes: sizeOf(answer, input) };
  }

  /** Undefined if the response was encrypted with a master key that is not available. */
  private openResponse(keyId: number, row: StoredResponseRow): StoredResponse | undefined {
    const { responseId } = row;
    const open = (packed: Buffer, field: string): Buffer | null => {
      const opened = this.box.openBytes(unpackSealed(packed), secretPlace(keyId, responseId, field));
      return opened.ok ? opened.value : null;
    };
    const answer = open(row.answer, 'answer');
    if (answer === null) return undefined;
    return { keyId, responseId, answer, input: row.input && open(row.input, 'input') };
  }
}

export const sizeOf = (answer: Buffer, input: Buffer | null): number => answer.length + (input?.length ?? 0);

const secretPlace = (keyId: number, responseId: string, field: string): SecretLocation => ({
  table: TABLE,
  row: `${keyId} ${responseId}`,
  field,
  host: '',
});

/** Columns to encrypt again after a change of the master key. */
export const sealedResponses: readonly SealedColumn[] = ['answer', 'input'].map((column) => ({
  table: TABLE,
  column,
  place: { table: TABLE, field: column, row: `t.key_id || ' ' || t.response_id` },
}));
