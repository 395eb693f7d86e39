import { SqlParameters, withinRecordScope } from '../../audit';
import { Injectable } from '@nestjs/common';
import type { Scope } from '../../kernel';
import { Database, Keyset, type Page, type PageRequest } from '../../platform';
import type { ScoredAnswer } from '../report/quality-report';
import { scoreColumns, type ScoreRow } from './score-row';

export interface ScoreFilter {
  readonly from: Date;
  readonly model?: string | null;
  readonly role?: 'served' | 'replay' | null;
  readonly verdict?: 'ok' | 'unjudgeable' | 'judge_error' | null;
  readonly bucket?: string | null;
}

export interface SampledShare {
  readonly scored: number;
  readonly requests: number;
}

interface ScoreChoices {
  readonly models: readonly string[];
  readonly buckets: readonly string[];
  readonly simulated: boolean;
}

const newestFirst = new Keyset(
  [
    { sql: 's.created_at', kind: 'instant' },
    { sql: 's.id', kind: 'integer' },
  ],
  'descending',
);
/** Maximum number of rows in a report; the latest ones count. */
const MAX_REPORTED = 20_000;

@Injectable()
export class ScoreQuery {
  constructor(private readonly database: Database) {}

  async page(scope: Scope, filter: ScoreFilter, request: PageRequest): Promise<Page<ScoreRow>> {
    const values: unknown[] = [];
    const where = conditionsOf(scope, filter, values);
    const keyset = newestFirst.clause(request, values.length + 1);
    values.push(...keyset.parameters, keyset.limit);
    const rows = await this.database.query<ScoreRow & Readonly<Record<string, unknown>>>(
      `SELECT ${scoreColumns}, ${newestFirst.positions} FROM quality_score s JOIN quality_sample q USING (request_id)
        WHERE ${[...where, keyset.where].join(' AND ')} ORDER BY ${keyset.orderBy} LIMIT $${values.length}`,
      values,
    );
    return newestFirst.page(rows, request);
  }

  /** Returns all replies to one request, the served one first; empty if it is outside the scope. */
  listForRequest(scope: Scope, requestId: string): Promise<ScoreRow[]> {
    const values: unknown[] = [requestId];
    return this.database.query<ScoreRow>(
      `SELECT ${scoreColumns} FROM quality_score s JOIN quality_sample q USING (request_id)
        WHERE s.request_id = $1 AND ${withinRecordScope(scope, new SqlParameters(values), 'q')} ORDER BY s.role DESC, s.model`,
      values,
    );
  }

  /** Returns the replies for a report; days and weeks are in the reader's time zone. */
  async listScored(scope: Scope, filter: ScoreFilter, timeZone: string): Promise<ScoredAnswer[]> {
    const values: unknown[] = [timeZone];
    const where = conditionsOf(scope, { ...filter, verdict: 'ok' }, values);
    const rows = await this.database.query<ScoredAnswer & { readonly total: number | string }>(
      `SELECT s.request_id AS "requestId", s.model, s.role, q.bucket, s.judge_version AS "judgeVersion",
              to_char(s.created_at AT TIME ZONE $1, 'YYYY-MM-DD') AS day,
              to_char(date_trunc('week', s.created_at AT TIME ZONE $1), 'YYYY-MM-DD') AS week, s.score_total AS total,
              1 / q.inclusion_prob AS weight, s.answer_length AS length, s.pair_preference AS preference,
              s.predicted_q AS predicted, s.cost_nano::float8 AS "costNano", s.latency_ms AS "latencyMs"
         FROM quality_score s JOIN quality_sample q USING (request_id)
        WHERE ${where.join(' AND ')} ORDER BY s.created_at DESC, s.id DESC LIMIT ${MAX_REPORTED}`,
      values,
    );
    return rows;
  }

  async share(scope: Scope, from: Date): Promise<SampledShare> {
    const values: unknown[] = [from];
    const within = withinRecordScope(scope, new SqlParameters(values), 'u');
    const sampled = withinRecordScope(scope, new SqlParameters(values), 'q');
    const [row] = await this.database.query<{ scored: number; requests: number }>(
      `SELECT (SELECT count(*)::integer FROM quality_sample q WHERE q.created_at >= $1 AND q.state = 'learned'
                 AND ${sampled}) AS scored,
              (SELECT coalesce(sum(u.requests), 0)::integer FROM usage_hour u
                WHERE u.hour >= date_trunc('hour', $1::timestamptz, 'UTC') AND ${within}) AS requests`,
      values,
    );
    return row ?? { scored: 0, requests: 0 };
  }

  async choices(scope: Scope, from: Date): Promise<ScoreChoices> {
    const values: unknown[] = [];
    const where = conditionsOf(scope, { from }, values);
    const [row] = await this.database.query<{ [Name in keyof ScoreChoices]: ScoreChoices[Name] | null }>(
      `SELECT array_agg(DISTINCT s.model) AS models, array_agg(DISTINCT q.bucket) AS buckets,
              bool_or(s.is_simulated) AS simulated
         FROM quality_score s JOIN quality_sample q USING (request_id) WHERE ${where.join(' AND ')}`,
      values,
    );
    return {
      models: row?.models ?? [],
      buckets: row?.buckets ?? [],
      simulated: row?.simulated ?? false,
    };
  }
}

function conditionsOf(scope: Scope, filter: ScoreFilter, values: unknown[]): string[] {
  const { from, model, role, verdict, bucket } = filter;
  const conditions = [withinRecordScope(scope, new SqlParameters(values), 'q')];
  const narrow = (column: string, value: unknown, sign = '='): void => {
    if (value === null || value === undefined || value === '') return;
    values.push(value);
    conditions.push(`${column} ${sign} $${values.length}`);
  };
  narrow('s.created_at', from, '>=');
  narrow('s.model', model);
  narrow('s.role', role);
  narrow('s.verdict', verdict);
  narrow('q.bucket', bucket);
  return conditions;
}
