import { Injectable } from '@nestjs/common';
import { DAY_MS } from '../kernel';
import { Database, RepeatingJob } from '../platform';

type TokenEventKind = 'refreshed' | 'refresh-failed' | 'limited' | 'rejected' | 'recovered';

export interface TokenEvent {
  readonly credentialId: string;
  readonly provider: string;
  readonly keyName: string;
  readonly kind: TokenEventKind;
  readonly source: 'call' | 'refresh';
  readonly errorKind?: string;
  readonly detail?: string;
}

export interface StoredTokenEvent extends Required<TokenEvent> {
  readonly id: string;
  readonly at: Date;
}

/** Absent or empty filters match everything. */
export interface TokenEventQuery {
  readonly provider?: string;
  readonly keyName?: string;
  /** Comma-separated kinds. */
  readonly kinds?: string;
  readonly source?: string;
  readonly errorKind?: string;
  readonly sinceMs?: number;
  readonly windowHours?: number;
  readonly limit?: number;
  readonly offset?: number;
}

const RETENTION_MS = 90 * DAY_MS;
const MAX_DETAIL_LENGTH = 500;
/** A page plus one row, to tell whether there are more. */
const MAX_ROWS = 1_001;
const MAX_OFFSET = 100_000;
const MAX_WINDOW_HOURS = 24 * 90;

@Injectable()
export class TokenEvents {
  constructor(private readonly database: Database) {}

  async record({
    credentialId,
    provider,
    keyName,
    kind,
    source,
    errorKind = '',
    detail = '',
  }: TokenEvent): Promise<void> {
    await this.database.query(
      `INSERT INTO provider_token_event (credential_id, provider, key_name, kind, source, error_kind, detail)
       VALUES ($1, $2, $3, $4, $5, $6, $7)`,
      [credentialId, provider, keyName, kind, source, errorKind, detail.slice(0, MAX_DETAIL_LENGTH)],
    );
  }

  /** Newest first; limited to MAX_ROWS, however wide the filter. */
  async find(query: TokenEventQuery): Promise<StoredTokenEvent[]> {
    const kinds = (query.kinds ?? '')
      .split(',')
      .map((kind) => kind.trim())
      .filter((kind) => kind !== '');
    return this.database.query<StoredTokenEvent>(
      `SELECT id, at, credential_id AS "credentialId", provider, key_name AS "keyName", kind, source,
              error_kind AS "errorKind", detail
       FROM provider_token_event
       WHERE at > now() - make_interval(hours => $1) AND at >= to_timestamp($2::float8 / 1000)
         AND ($3 = '' OR provider = $3) AND ($4 = '' OR key_name = $4)
         AND (cardinality($5::text[]) = 0 OR kind = ANY ($5))
         AND ($6 = '' OR source = $6) AND ($7 = '' OR error_kind = $7)
       ORDER BY at DESC, id DESC LIMIT $8 OFFSET $9`,
      [
        clamp(query.windowHours, 24, MAX_WINDOW_HOURS),
        clamp(query.sinceMs, 0, Date.now()),
        query.provider ?? '',
        query.keyName ?? '',
        kinds,
        query.source ?? '',
        query.errorKind ?? '',
        clamp(query.limit, 100, MAX_ROWS),
        clamp(query.offset, 0, MAX_OFFSET),
      ],
    );
  }

  @RepeatingJob({ name: 'token-events', cron: '25 3 * * *' })
  async deleteExpired(): Promise<void> {
    await this.deleteBefore(new Date(Date.now() - RETENTION_MS));
  }

  async deleteBefore(instant: Date): Promise<number> {
    const [row] = await this.database.query<{ count: string }>(
      `WITH gone AS (DELETE FROM provider_token_event WHERE at < $1 RETURNING 1) SELECT count(*) FROM gone`,
      [instant],
    );
    return Number(row?.count ?? 0);
  }
}

const clamp = (value: number | undefined, defaultValue: number, max: number): number =>
  Number.isNaN(value) ? defaultValue : Math.min(Math.max(0, Math.trunc(value ?? defaultValue)), max);
