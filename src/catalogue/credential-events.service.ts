import { Injectable } from '@nestjs/common';
import { DAY_MS } from '../kernel';
import { Database, RepeatingJob } from '../platform';

/** The kinds of events of a pool's token. */
type TokenEventKind = 'refreshed' | 'refresh-failed' | 'limited' | 'rejected' | 'recovered';

export interface TokenEvent {
  readonly credentialId: string;
  readonly provider: string;
  /** The credential's label. */
  readonly keyName: string;
  readonly kind: TokenEventKind;
  /** The source: a call, or the renewal. */
  readonly source: 'call' | 'refresh';
  readonly errorKind?: string;
  readonly detail?: string;
}

export interface StoredTokenEvent extends Required<TokenEvent> {
  readonly id: string;
  readonly at: Date;
}

/** Filters that are absent or empty match everything. */
export interface TokenEventQuery {
  readonly provider?: string;
  readonly keyName?: string;
  /** Several kinds have commas between them. */
  readonly kinds?: string;
  readonly source?: string;
  readonly errorKind?: string;
  readonly sinceMs?: number;
  readonly windowHours?: number;
  readonly limit?: number;
  readonly offset?: number;
}

const KEPT_MS = 90 * DAY_MS;
const LONGEST_DETAIL = 500;
/** One row more than a page shows whether there are more. */
const MOST_ROWS = 1_001;
const FARTHEST_OFFSET = 100_000;
const LONGEST_WINDOW_HOURS = 24 * 90;

/** The log of token events, for operators. */
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
      [credentialId, provider, keyName, kind, source, errorKind, detail.slice(0, LONGEST_DETAIL)],
    );
  }

  /** Newest first; the answer is bounded, however wide the filter. */
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
        within(query.windowHours, 24, LONGEST_WINDOW_HOURS),
        within(query.sinceMs, 0, Date.now()),
        query.provider ?? '',
        query.keyName ?? '',
        kinds,
        query.source ?? '',
        query.errorKind ?? '',
        within(query.limit, 100, MOST_ROWS),
        within(query.offset, 0, FARTHEST_OFFSET),
      ],
    );
  }

  @RepeatingJob({ name: 'token-events', cron: '25 3 * * *' })
  async forgetOld(): Promise<void> {
    await this.forgetBefore(new Date(Date.now() - KEPT_MS));
  }

  /** Deletes older events; returns their number. */
  async forgetBefore(instant: Date): Promise<number> {
    const [row] = await this.database.query<{ count: string }>(
      `WITH gone AS (DELETE FROM provider_token_event WHERE at < $1 RETURNING 1) SELECT count(*) FROM gone`,
      [instant],
    );
    return Number(row?.count ?? 0);
  }
}

const within = (value: number | undefined, usual: number, most: number): number =>
  Number.isNaN(value) ? usual : Math.min(Math.max(0, Math.trunc(value ?? usual)), most);
