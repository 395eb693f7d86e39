import { Injectable } from '@nestjs/common';
import { DAY_MS } from '../../../kernel';
import { Database, Keyset, type Page, type PageRequest } from '../../../platform';

/**
 * `lane`: a node's breaker is open. `credential`: the supplier rejected it. `errors`: many requests of a model fail.
 * `seal`: activity log entries are not sealed.
 */
export type IncidentKind = 'lane' | 'credential' | 'errors' | 'seal';

export interface ObservedIncident {
  readonly kind: IncidentKind;
  readonly provider?: string;
  readonly model?: string;
  readonly region?: string;
  readonly credential?: string;
  /** An error code, or the measured value. */
  readonly cause: string;
  readonly status?: number | null;
  readonly startedAt: Date;
  readonly seenAt: Date;
}

export interface Incident extends Required<Omit<ObservedIncident, 'seenAt'>> {
  readonly id: string;
  readonly endedAt: Date | null;
}

/** A report that started before the open incident was last seen belongs to that incident. */
const ADD = `
  INSERT INTO incident AS known (kind, provider, model, region, credential, cause, status, started_at, last_seen_at)
  SELECT DISTINCT ON (kind, provider, model, region, credential)
         kind, provider, model, region, credential, cause, status,
         to_timestamp(started / 1000.0), to_timestamp(greatest(seen, started) / 1000.0)
    FROM jsonb_to_recordset($1::jsonb) AS given (kind text, provider text, model text, region text, credential text,
         cause text, status integer, started bigint, seen bigint)
   ORDER BY kind, provider, model, region, credential, seen DESC
  ON CONFLICT (kind, provider, model, region, credential) WHERE ended_at IS NULL
  DO UPDATE SET last_seen_at = greatest(known.last_seen_at, excluded.last_seen_at),
                started_at = least(known.started_at, excluded.started_at)`;

const END = `
  UPDATE incident SET ended_at = greatest(last_seen_at, started_at)
   WHERE ended_at IS NULL AND kind = ANY ($1) AND last_seen_at < $2`;

const LIST = `SELECT id, kind, provider, model, region, credential, cause, status, started_at AS "startedAt",
  ended_at AS "endedAt"`;

const newestFirst = new Keyset(
  [
    { sql: 'started_at', kind: 'instant' },
    { sql: 'id', kind: 'integer' },
  ],
  'descending',
);

const RETENTION_MS = 400 * DAY_MS;

@Injectable()
export class IncidentLog {
  constructor(private readonly database: Database) {}

  async record(incidents: readonly ObservedIncident[]): Promise<void> {
    if (incidents.length === 0) return;
    const rows = incidents.map(
      ({ kind, provider, model, region, credential, cause, status, startedAt, seenAt }) => ({
        kind,
        provider: provider ?? '',
        model: model ?? '',
        region: region ?? '',
        credential: credential ?? '',
        cause,
        status: status ?? null,
        started: startedAt.getTime(),
        seen: seenAt.getTime(),
      }),
    );
    await this.database.query(ADD, [JSON.stringify(rows)]);
  }

  async endUnseen(kinds: readonly IncidentKind[], since: Date): Promise<void> {
    await this.database.query(END, [kinds, since]);
  }

  page(since: Date, request: PageRequest): Promise<Page<Incident>> {
    const keyset = newestFirst.clause(request, 3);
    return this.database
      .query<Incident & Record<string, unknown>>(
        `${LIST}, ${newestFirst.positions} FROM incident
          WHERE (ended_at IS NULL OR started_at >= $1) AND ${keyset.where}
          ORDER BY ${keyset.orderBy} LIMIT $2`,
        [since, keyset.limit, ...keyset.parameters],
      )
      .then((rows) => newestFirst.page(rows, request));
  }

  async deleteOld(now: Date): Promise<void> {
    await this.database.query('DELETE FROM incident WHERE ended_at < $1', [
      new Date(now.getTime() - RETENTION_MS),
    ]);
  }
}
