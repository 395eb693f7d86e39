import { Injectable } from '@nestjs/common';
import {
  Database,
  Metrics,
  RepeatingJob,
  type TableRow,
  SecretBox,
  type SealedColumn,
  type SealedSecret,
  type SecretLocation,
  Settings,
  StorageLimit,
} from '../../platform';
import type { IdempotentOperation } from './operation';

/**
 * `abandoned`: the node that executed the request is gone, and nothing was charged. `unkept`: the request was executed,
 * but its answer is not stored.
 */
type ClaimState = 'running' | 'abandoned' | 'answered' | 'unkept';

type EarlierClaimRow = TableRow<'idempotent_answer', 'claim, request_hash, request_id'> & {
  readonly standing: ClaimState;
} & { [Part in keyof SealedSecret]: SealedSecret[Part] | null };

export interface EarlierClaim {
  readonly claim: string;
  readonly requestId: string;
  readonly sameRequest: boolean;
  readonly standing: ClaimState;
  /** Null if the answer is unreadable. */
  readonly answer: Buffer | null;
}

const LEASE_SECONDS = 30;
const LEASE = `clock_timestamp() + interval '${LEASE_SECONDS} seconds'`;

const TABLE = 'idempotent_answer';
const DELETE_BATCH_SIZE = 100;

/** Stores who executes a request under an idempotency key, and the answer. The database decides, by its own clock. */
@Injectable()
export class IdempotencyStore {
  private readonly limit: StorageLimit;

  constructor(
    private readonly database: Database,
    private readonly box: SecretBox,
    private readonly metrics: Metrics,
    settings: Settings,
  ) {
    this.limit = new StorageLimit({ bytes: settings.idempotentAnswersKeyLimitBytes, rows: Infinity });
  }

  /** Returns true if the caller now owns the operation: it was free, expired, or the given abandoned claim. */
  async claim(claim: string, operation: IdempotentOperation, abandoned: string | null): Promise<boolean> {
    const { keyId, keyHash, requestHash, requestId } = operation;
    const rows = await this.database.query(
      `INSERT INTO idempotent_answer AS earlier (claim, key_id, key_hash, request_hash, request_id, leased_until)
       VALUES ($1, $2, $3, $4, $5, ${LEASE})
       ON CONFLICT ON CONSTRAINT idempotent_answer_once DO UPDATE SET
         claim = excluded.claim, request_hash = excluded.request_hash, request_id = excluded.request_id,
         state = 'running', claimed_at = excluded.claimed_at, leased_until = excluded.leased_until,
         expires_at = excluded.expires_at, master_key_id = NULL, wrapped_key = NULL, nonce = NULL, ciphertext = NULL
       WHERE earlier.expires_at <= clock_timestamp() OR (earlier.claim = $6 AND earlier.state = 'running'
         AND earlier.leased_until <= clock_timestamp())
       RETURNING 1`,
      [claim, keyId, keyHash, requestHash, requestId, abandoned],
    );
    return rows.length > 0;
  }

  async find(operation: IdempotentOperation): Promise<EarlierClaim | null> {
    // A recorded charge proves that a lost call was executed. One second of tolerance covers the difference between the
    // database's clock and a node's estimate.
    const [row] = await this.database.rows<EarlierClaimRow>(
      `SELECT claim, request_hash, request_id, master_key_id AS key_id, wrapped_key, nonce, ciphertext,
              CASE WHEN state <> 'running' THEN state
                   WHEN leased_until > clock_timestamp() THEN 'running'
                   WHEN EXISTS (SELECT FROM request_record r
                     WHERE r.request_id = earlier.request_id AND r.key_id = earlier.key_id AND r.code IS NULL
                       AND r.created_at >= earlier.claimed_at - interval '1 second') THEN 'unkept'
                   ELSE 'abandoned' END AS standing
         FROM idempotent_answer earlier WHERE key_id = $1 AND key_hash = $2`,
      [operation.keyId, operation.keyHash],
    );
    if (row === undefined) return null;
    const sameRequest = row.requestHash.equals(operation.requestHash);
    return {
      claim: row.claim,
      requestId: row.requestId,
      sameRequest,
      standing: row.standing,
      answer: sameRequest && isAnswered(row) ? this.open(operation, row) : null,
    };
  }

  async renew(claims: readonly string[]): Promise<void> {
    await this.database.query(
      `UPDATE idempotent_answer SET leased_until = ${LEASE} WHERE claim = ANY ($1) AND state = 'running'`,
      [claims],
    );
  }

  /** Returns false if another request owns the operation in the meantime. */
  async store(claim: string, operation: IdempotentOperation, answer: Buffer): Promise<boolean> {
    const sealed = this.box.seal(answer, placeOf(operation, claim));
    const room = this.limit.add(operation.keyId, { bytes: sealed.ciphertext.length, rows: 1 });
    if (room !== null) await this.evict(operation.keyId, room.bytes);
    return this.updateClaim(
      `UPDATE idempotent_answer SET state = 'answered', expires_at = DEFAULT,
              master_key_id = $2, wrapped_key = $3, nonce = $4, ciphertext = $5
        WHERE claim = $1 RETURNING 1`,
      [claim, sealed.keyId, sealed.wrappedKey, sealed.nonce, sealed.ciphertext],
    );
  }

  /** Marks an executed operation without a stored answer, so that it is not executed again. */
  async markUnstored(claim: string): Promise<boolean> {
    return this.updateClaim(
      `UPDATE idempotent_answer SET state = 'unkept', expires_at = DEFAULT WHERE claim = $1 RETURNING 1`,
      [claim],
    );
  }

  async release(claim: string): Promise<void> {
    await this.database.query('DELETE FROM idempotent_answer WHERE claim = $1', [claim]);
  }

  @RepeatingJob({ name: 'idempotent-answers', cron: '*/10 * * * *' })
  async removeExpired(signal: AbortSignal): Promise<number> {
    let removed = 0;
    while (!signal.aborted) {
      const [row] = await this.database.query<{ count: number }>(
        `WITH gone AS (
           DELETE FROM idempotent_answer WHERE claim IN (
             SELECT claim FROM idempotent_answer WHERE expires_at <= clock_timestamp()
              ORDER BY expires_at LIMIT ${DELETE_BATCH_SIZE} FOR UPDATE SKIP LOCKED) RETURNING 1)
         SELECT count(*)::integer AS count FROM gone`,
      );
      const count = row?.count ?? 0;
      removed += count;
      if (count < DELETE_BATCH_SIZE) break;
    }
    return removed;
  }

  /** Removes the oldest answers of a key. Their claims stay, so that evicted calls are not executed again. */
  private async evict(keyId: number, keptBytes: number): Promise<void> {
    const [row] = await this.database.query<{ count: number }>(
      `WITH gone AS (
         UPDATE idempotent_answer
            SET state = 'unkept', master_key_id = NULL, wrapped_key = NULL, nonce = NULL, ciphertext = NULL
          WHERE claim IN (
            SELECT claim FROM (
              SELECT claim, sum(octet_length(ciphertext)) OVER (ORDER BY expires_at DESC, claim
                                                                ROWS UNBOUNDED PRECEDING) AS bytes_so_far
                FROM idempotent_answer WHERE key_id = $1 AND state = 'answered') answers
             WHERE bytes_so_far > $2) RETURNING 1)
       SELECT count(*)::integer AS count FROM gone`,
      [keyId, keptBytes],
    );
    if (row !== undefined && row.count > 0)
      this.metrics.storageLimited.inc({ kind: 'idempotent_answers' }, row.count);
  }

  private async updateClaim(update: string, parameters: unknown[]): Promise<boolean> {
    const [row] = await this.database.query<{ changed: boolean }>(
      `WITH changed AS (${update}) SELECT EXISTS (SELECT FROM changed) AS changed`,
      parameters,
    );
    return row?.changed ?? false;
  }

  private open(
    operation: IdempotentOperation,
    row: SealedSecret & { readonly claim: string },
  ): Buffer | null {
    const opened = this.box.openBytes(row, placeOf(operation, row.claim));
    return opened.ok ? opened.value : null;
  }
}

const isAnswered = (row: EarlierClaimRow): row is EarlierClaimRow & SealedSecret =>
  row.standing === 'answered';

/** Binds an answer to its own call. */
const placeOf = ({ keyId, keyHash, requestHash }: IdempotentOperation, claim: string): SecretLocation => ({
  table: TABLE,
  row: `${keyId} ${keyHash.toString('hex')} ${requestHash.toString('hex')} ${claim}`,
  field: 'answer',
  host: '',
});

export const sealedAnswers: readonly SealedColumn[] = [
  {
    table: TABLE,
    column: 'wrapped_key',
    keyIdColumn: 'master_key_id',
    place: {
      table: TABLE,
      field: 'answer',
      row: `concat_ws(' ', t.key_id, encode(t.key_hash, 'hex'), encode(t.request_hash, 'hex'), t.claim)`,
    },
  },
];
