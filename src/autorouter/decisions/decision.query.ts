import { SqlParameters, withinRecordScope } from '../../audit';
import { Injectable } from '@nestjs/common';
import {
  comparePairs,
  type Interval,
  MIN_SAMPLE_SIZE,
  quantileOf,
  ratioOf,
  type Scope,
  type WeightedValue,
} from '../../kernel';
import { Database } from '../../platform';
import type { AutoDecision } from '../choice';
import { answeredBy, autoRecords, costRatio } from './auto-records';

/** Totals of `auto` requests. Figures derived from the router's own predictions are called estimates. */
export interface DecisionTotals {
  readonly requests: number;
  /** Requests answered by another model than the reference. */
  readonly away: number;
  readonly failovers: number;
  readonly stickyKept: number;
  readonly stickyBroken: number;
  readonly costNano: bigint;
  /** Share of what the reference would have cost, as predicted by the router; null if nothing is known. */
  readonly estimatedCostRatio: number | null;
}

export interface DailyModelChoices {
  readonly day: string;
  readonly model: string;
  readonly requests: number;
}

export interface LoggedDecision {
  readonly requestId: string;
  readonly createdAt: Date;
  readonly chosen: string;
  readonly reference: string | null;
  readonly reason: string;
  readonly bucket: string | null;
  readonly drift: string;
  readonly costRatio: number | null;
  readonly qualityDifference: number | null;
  readonly candidates: readonly {
    readonly model: string;
    readonly q: number;
    readonly lo?: number;
    readonly hi?: number;
    readonly u: number;
  }[];
  readonly excluded: Readonly<Record<string, number>>;
  readonly explanation: object;
}

/** Compares answers of both models to the same requests, scored by the same judge. */
export interface MeasuredDifference {
  readonly pairs: number;
  /** In points; null if there are not enough data. */
  readonly quality: Interval | null;
  /** Cost of the chosen answers relative to the reference's; null if there are not enough data. */
  readonly costRatio: Interval | null;
  /** Latency difference to the reference at the median and the 95th percentile; null if there are not enough data. */
  readonly latencyMs: { readonly p50: Interval | null; readonly p95: Interval | null } | null;
}

export interface ModelChoice {
  readonly model: string;
  readonly reason: string;
}

export interface ReasonCount {
  readonly reason: string;
  readonly requests: number;
}

export interface WeeklyDecisions {
  readonly week: string;
  readonly requests: number;
  /** Requests answered by another model than the reference. */
  readonly away: number;
  /** As predicted by the router; null if nothing is known. */
  readonly estimatedCostRatio: number | null;
}

const LATEST_LIMIT = 20;
const MAX_PAIRS = 20_000;

const estimatedRatio = `sum(r.cost_nano) FILTER (WHERE (${costRatio}) > 0)
  / nullif(sum(r.cost_nano / (${costRatio})) FILTER (WHERE (${costRatio}) > 0), 0)`;

@Injectable()
export class DecisionQuery {
  constructor(private readonly database: Database) {}

  async totals(scope: Scope, from: Date): Promise<DecisionTotals> {
    const { values, where } = autoRecords(scope, from);
    const [row] = await this.database.query<Record<keyof DecisionTotals, number | string | null>>(
      `SELECT count(*)::integer AS requests,
              count(*) FILTER (WHERE ${answeredBy} <> r.auto_decision->>'ref')::integer AS away,
              count(*) FILTER (WHERE r.failover OR r.auto_decision ? 'answered_by')::integer AS failovers,
              count(*) FILTER (WHERE r.auto_decision->'session'->>'sticky' = 'kept')::integer AS "stickyKept",
              count(*) FILTER (WHERE r.auto_decision->'session'->>'sticky' LIKE 'broken%')::integer AS "stickyBroken",
              coalesce(sum(r.cost_nano), 0)::text AS "costNano",
              (${estimatedRatio})::float8 AS "estimatedCostRatio"
         FROM request_record r WHERE ${where}`,
      values,
    );
    const count = (name: keyof DecisionTotals): number => Number(row?.[name] ?? 0);
    const estimate = row?.estimatedCostRatio;
    return {
      requests: count('requests'),
      away: count('away'),
      failovers: count('failovers'),
      stickyKept: count('stickyKept'),
      stickyBroken: count('stickyBroken'),
      costNano: BigInt(row?.costNano ?? 0),
      estimatedCostRatio: estimate === null || estimate === undefined ? null : Number(estimate),
    };
  }

  reasons(scope: Scope, from: Date): Promise<ReasonCount[]> {
    const { values, where } = autoRecords(scope, from);
    return this.database.query<ReasonCount>(
      `SELECT coalesce(r.auto_decision->>'reason', 'fallback') AS reason, count(*)::integer AS requests
         FROM request_record r WHERE ${where} GROUP BY 1 ORDER BY 2 DESC, 1`,
      values,
    );
  }

  /** Weeks start on Mondays in the reader's time zone; weeks without requests are absent. */
  async byWeek(scope: Scope, from: Date, timeZone: string): Promise<WeeklyDecisions[]> {
    const { values, where } = autoRecords(scope, from);
    values.push(timeZone);
    const rows = await this.database.query<WeeklyDecisions>(
      `SELECT to_char(date_trunc('week', r.created_at AT TIME ZONE $${values.length}), 'YYYY-MM-DD') AS week,
              count(*)::integer AS requests,
              count(*) FILTER (WHERE ${answeredBy} <> r.auto_decision->>'ref')::integer AS away,
              (${estimatedRatio})::float8 AS "estimatedCostRatio"
         FROM request_record r WHERE ${where} GROUP BY 1 ORDER BY 1`,
      values,
    );
    return rows;
  }

  byDay(scope: Scope, from: Date, timeZone: string): Promise<DailyModelChoices[]> {
    const { values, where } = autoRecords(scope, from);
    values.push(timeZone);
    return this.database.query<DailyModelChoices>(
      `SELECT to_char(r.created_at AT TIME ZONE $${values.length}, 'YYYY-MM-DD') AS day, ${answeredBy} AS model,
              count(*)::integer AS requests FROM request_record r WHERE ${where} GROUP BY 1, 2 ORDER BY 1, 3 DESC`,
      values,
    );
  }

  /** Newest first. */
  latest(scope: Scope, from: Date): Promise<LoggedDecision[]> {
    const { values, where } = autoRecords(scope, from);
    return this.database.query<LoggedDecision>(
      `SELECT r.request_id AS "requestId", r.created_at AS "createdAt", ${answeredBy} AS chosen,
              r.auto_decision->>'ref' AS reference, coalesce(r.auto_decision->>'reason', '') AS reason,
              r.auto_decision->>'bucket' AS bucket, coalesce(r.auto_decision->>'drift', 'calm') AS drift,
              (r.auto_decision->>'cost_ratio')::float8 AS "costRatio",
              (r.auto_decision->>'quality_difference')::float8 AS "qualityDifference",
              coalesce(r.auto_decision->'candidates', '[]') AS candidates,
              coalesce(r.auto_decision->'excluded', '{}') AS excluded, r.auto_decision AS explanation
         FROM request_record r WHERE ${where} ORDER BY r.created_at DESC, r.request_id DESC LIMIT ${LATEST_LIMIT}`,
      values,
    );
  }

  /** Choices of one user's requests; requests that did not use `auto` are absent. */
  async ofRequests(userId: number, requestIds: readonly string[]): Promise<ReadonlyMap<string, ModelChoice>> {
    if (requestIds.length === 0) return new Map();
    const rows = await this.database.query<ModelChoice & { readonly requestId: string }>(
      `SELECT r.request_id AS "requestId", ${answeredBy} AS model, coalesce(r.auto_decision->>'reason', '') AS reason
         FROM request_record r
        WHERE r.request_id = ANY ($2::uuid[]) AND r.user_id = $1 AND r.model = 'auto' AND r.auto_decision IS NOT NULL`,
      [userId, requestIds],
    );
    return new Map(rows.map(({ requestId, ...choice }) => [requestId, choice]));
  }

  /** Why the model of a request was chosen; null if the request named its model or is outside the scope. */
  async explanationOf(scope: Scope, requestId: string) {
    const values: unknown[] = [requestId];
    const [row] = await this.database.query<{ explanation: AutoDecision | null }>(
      `SELECT r.auto_decision AS explanation FROM request_record r
        WHERE r.request_id = $1 AND ${withinRecordScope(scope, new SqlParameters(values), 'r')}`,
      values,
    );
    return row?.explanation ?? null;
  }

  async exclusions(scope: Scope, from: Date): Promise<Readonly<Record<string, number>>> {
    const { values, where } = autoRecords(scope, from);
    const rows = await this.database.query<{ reason: string; count: number }>(
      `SELECT e.key AS reason, sum(e.value::integer)::integer AS count
         FROM request_record r, jsonb_each_text(coalesce(r.auto_decision->'excluded', '{}')) AS e
        WHERE ${where} GROUP BY 1 ORDER BY 2 DESC, 1`,
      values,
    );
    return Object.fromEntries(rows.map(({ reason, count }) => [reason, count]));
  }

  /** Uses the latest judge that scored enough pairs: scores of two judges are never compared. */
  async measured(scope: Scope, from: Date): Promise<MeasuredDifference> {
    const { values, where } = autoRecords(scope, from);
    const rows = await this.database.query<
      WeightedValue & Record<'cost' | 'costOther' | 'late' | 'lateOther', number>
    >(
      `WITH pair AS (
         SELECT a.score_total - b.score_total AS value, 1 / q.inclusion_prob AS weight, a.judge_version, a.judged_at,
                a.cost_nano::float8 AS cost, b.cost_nano::float8 AS "costOther", a.latency_ms AS late,
                b.latency_ms AS "lateOther"
           FROM request_record r
           JOIN quality_sample q ON q.request_id = r.request_id
           JOIN quality_score a ON a.request_id = r.request_id AND a.role = 'served' AND a.verdict = 'ok'
           JOIN quality_score b ON b.request_id = r.request_id AND b.model = r.auto_decision->>'ref'
                AND b.role = 'replay' AND b.verdict = 'ok' AND b.judge_version = a.judge_version
          WHERE ${where})
       SELECT value, weight, cost, "costOther", late, "lateOther" FROM pair
        WHERE judge_version = (
          SELECT judge_version FROM pair GROUP BY 1
           ORDER BY count(*) >= ${MIN_SAMPLE_SIZE} DESC, max(judged_at) DESC LIMIT 1)
        ORDER BY judged_at DESC LIMIT ${MAX_PAIRS}`,
      values,
    );
    if (rows.length < MIN_SAMPLE_SIZE)
      return { pairs: rows.length, quality: null, costRatio: null, latencyMs: null };
    const later = rows.map(({ late, lateOther, weight }) => ({ value: late - lateOther, weight }));
    return {
      pairs: rows.length,
      quality: (await comparePairs(rows))?.interval ?? null,
      costRatio: ratioOf(
        rows.map(({ cost, costOther, weight }) => ({ value: cost, other: costOther, weight })),
      ),
      latencyMs: { p50: quantileOf(later, 0.5), p95: quantileOf(later, 0.95) },
    };
  }
}
