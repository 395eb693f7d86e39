import { Injectable } from '@nestjs/common';
import {
  Database,
  Metrics,
  packSealed,
  RepeatingJob,
  type Row,
  type SealedColumn,
  SecretBox,
  type SecretPlace,
  Settings,
  StorageLimit,
  type StoredAmount,
  unpackSealed,
} from '../../platform';

/** A stored answer of `/v1/responses`, for the key that got it. */
export interface KeptResponse {
  readonly keyId: number;
  readonly responseId: string;
  /** The response object, as JSON. */
  readonly answer: Buffer;
  /** The whole conversation that led to it, as a JSON list of items; null: it was not asked for, or too large. */
  readonly input: Buffer | null;
}

/** The same when it is fresh. */
export interface FreshResponse extends KeptResponse {
  /** These are the ids of the output items. */
  readonly itemIds: readonly string[];
}

/** A fresh response with encrypted contents and their size. */
interface SealedResponse extends FreshResponse {
  readonly bytes: number;
}

type KeptRow = Row<'kept_response', 'response_id, answer, input'>;

const TABLE = 'kept_response';
const ROWS_AT_ONCE = 100;
/** Per key, next to the setting that limits their size. */
const MAX_ANSWERS = 20_000;

/** Keeps answers in PostgreSQL: encrypted, for a day by the database's clock. */
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
    this.max = { bytes: settings.responsesStoreKeyLimitBytes, rows: MAX_ANSWERS };
    this.limit = new StorageLimit(this.max);
  }

  /** One statement for all, each id once. A key that was deleted meanwhile stores nothing. */
  async write(batch: readonly FreshResponse[]): Promise<void> {
    const sealed = batch.map((kept) => this.sealed(kept));
    await this.makeRoom(sealed);
    const rows = sealed.map(({ keyId, responseId, itemIds, bytes, answer, input }) => [
      keyId,
      responseId,
      itemIds,
      bytes,
      answer,
      input,
    ]);
    const places = rows.map((row, at) => {
      const [key, id, items, bytes, answer, input] = row.map(
        (_, column) => `$${at * row.length + column + 1}`,
      );
      return `(${at}, ${key}::integer, ${id}::text, ${items}::text[], ${bytes}::bigint, ${answer}::bytea, ${input}::bytea)`;
    });
    await this.database.query(
      `WITH fresh AS (
         SELECT fresh.* FROM (VALUES ${places.join(', ')})
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

  /** It finds those with one of the ids, and those with one of the items. Input comes only with the former. */
  async find(
    keyId: number,
    responseIds: readonly string[],
    itemIds: readonly string[],
  ): Promise<KeptResponse[]> {
    const owners = itemIds.length === 0 ? [] : await this.ownersOf(keyId, itemIds);
    const rows = await this.database.rows<KeptRow>(
      `SELECT response_id, answer, CASE WHEN response_id = ANY ($3) THEN input END AS input
         FROM kept_response
        WHERE key_id = $1 AND response_id = ANY ($2) AND expires_at > clock_timestamp()`,
      [keyId, [...responseIds, ...owners], responseIds],
    );
    return rows.flatMap((row) => this.opened(keyId, row) ?? []);
  }

  private async ownersOf(keyId: number, itemIds: readonly string[]): Promise<string[]> {
    const rows = await this.database.rows<Row<'kept_response_item', 'response_id'>>(
      'SELECT DISTINCT response_id FROM kept_response_item WHERE key_id = $1 AND item_id = ANY ($2)',
      [keyId, itemIds],
    );
    return rows.map(({ responseId }) => responseId);
  }

  /** True: it was there. */
  async remove(keyId: number, responseId: string): Promise<boolean> {
    const [row] = await this.database.query<{ gone: number }>(
      `WITH gone AS (DELETE FROM kept_response
         WHERE key_id = $1 AND response_id = $2 AND expires_at > clock_timestamp() RETURNING 1)
       SELECT count(*)::integer AS gone FROM gone`,
      [keyId, responseId],
    );
    return (row?.gone ?? 0) > 0;
  }

  /** Deletes what is older than a day, and the oldest of keys that have too much, until the time is up. */
  @RepeatingJob({ name: 'kept-responses', cron: '5-59/10 * * * *' })
  async removeExpired(signal: AbortSignal): Promise<number> {
    let removed = 0;
    while (!signal.aborted) {
      const [row] = await this.database.query<{ count: number }>(
        `WITH gone AS (
           DELETE FROM kept_response WHERE (key_id, response_id) IN (
             SELECT key_id, response_id FROM kept_response WHERE expires_at <= clock_timestamp()
              ORDER BY expires_at LIMIT ${ROWS_AT_ONCE} FOR UPDATE SKIP LOCKED) RETURNING 1)
         SELECT count(*)::integer AS count FROM gone`,
      );
      const count = row?.count ?? 0;
      removed += count;
      if (count < ROWS_AT_ONCE) break;
    }
    if (!signal.aborted) await this.trim(null, this.max);
    return removed;
  }

  /** Removes the oldest responses of the batch's keys before a key exceeds its limit. */
  private async makeRoom(batch: readonly SealedResponse[]): Promise<void> {
    for (const [keyId, added] of Map.groupBy(batch, (kept) => kept.keyId)) {
      const bytes = added.reduce((sum, response) => sum + response.bytes, 0);
      const room = this.limit.add(keyId, { bytes, rows: added.length });
      if (room !== null) await this.trim(keyId, room);
    }
  }

  /** A null key stands for every key. */
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

  private sealed(response: FreshResponse): SealedResponse {
    const { keyId, responseId } = response;
    const seal = (content: Buffer, field: string): Buffer =>
      packSealed(this.box.seal(content, placeOf(keyId, responseId, field)));
    const answer = seal(response.answer, 'answer');
    const input = response.input && seal(response.input, 'input');
    return { ...response, answer, input, bytes: sizeOf(answer, input) };
  }

  /** Undefined: encrypted with a master key that is not available. */
  private opened(keyId: number, row: KeptRow): KeptResponse | undefined {
    const { responseId } = row;
    const open = (packed: Buffer, field: string): Buffer | null => {
      const opened = this.box.openBytes(unpackSealed(packed), placeOf(keyId, responseId, field));
      return opened.ok ? opened.value : null;
    };
    const answer = open(row.answer, 'answer');
    if (answer === null) return undefined;
    return { keyId, responseId, answer, input: row.input && open(row.input, 'input') };
  }
}

export const sizeOf = (answer: Buffer, input: Buffer | null): number => answer.length + (input?.length ?? 0);

/** The additional data binds it to its own key and response. */
const placeOf = (keyId: number, responseId: string, field: string): SecretPlace => ({
  table: TABLE,
  row: `${keyId} ${responseId}`,
  field,
  host: '',
});

/** A change of the master key seals these anew. */
export const sealedResponses: readonly SealedColumn[] = ['answer', 'input'].map((column) => ({
  table: TABLE,
  column,
  place: { table: TABLE, field: column, row: `t.key_id || ' ' || t.response_id` },
}));
