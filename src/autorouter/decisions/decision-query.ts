import { SqlParameters, withinRecordScope } from '../../audit';
import { Injectable } from '@nestjs/common';
import {
  comparePairs,
  type Interval,
  LEAST_SAMPLE,
  quantileOf,
  ratioOf,
  type Scope,
  type Weighted,
} from '../../kernel';
import { Database } from '../../platform';
import type { AutoDecision } from '../choice';
import { answeredBy, autoRecords, costRatio } from './auto-records';

/** These are totals of requests for `auto`. Figures derived from the router's own expectations are called estimates. */
export interface DecisionTotals {
  readonly requests: number;
  /** So many were answered by another model than the reference. */
  readonly away: number;
  readonly failovers: number;
  readonly stickyKept: number;
  readonly stickyBroken: number;
  readonly costNano: bigint;
  /** It is a part of what the reference would have cost, by the router's expectation; null where nothing is known. */
  readonly estimatedCostRatio: number | null;
}

export interface ChosenOnDay {
  readonly day: string;
  readonly model: string;
  readonly requests: number;
}

export interface MadeDecision {
  readonly requestId: string;
  readonly createdAt: Date;
  readonly chosen: string;
  readonly reference: string | null;
  readonly reason: string;
  readonly bucket: string | null;
  /** The text says whether recent requests were unlike what was learned; `calm` means that they were not. */
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
  /** All that was written down of it. */
  readonly explanation: object;
}

/** It compares answers of both models to the same requests, judged by the same judge. */
export interface MeasuredDifference {
  readonly pairs: number;
  /** It is in points; null means not enough data. */
  readonly quality: Interval | null;
  /** The chosen answers cost this share of the reference's cost; null means that there are not enough data. */
  readonly costRatio: Interval | null;
  /** Answers are later than the reference's by so much, the median and the 95th; null means not enough data. */
  readonly latencyMs: { readonly p50: Interval | null; readonly p95: Interval | null } | null;
}

/** A choice names the model that answered a request for auto, and the reason. */
export interface ChoiceMade {
  readonly model: string;
  readonly reason: string;
}

export interface DecidingReason {
  readonly reason: string;
  readonly requests: number;
}

export interface WeekOfDecisions {
  readonly week: string;
  readonly requests: number;
  /** So many were answered by another model than the reference. */
  readonly away: number;
  /** It goes by the router's expectation; null where nothing is known. */
  readonly estimatedCostRatio: number | null;
}

const LATEST = 20;
const MOST_PAIRS = 20_000;

const estimatedRatio = `sum(r.cost_nano) FILTER (WHERE (${costRatio}) > 0)
  / nullif(sum(r.cost_nano / (${costRatio})) FILTER (WHERE (${costRatio}) > 0), 0)`;

/** Reads the decisions that the gateway wrote beside its records. */
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

  /** Each reason is counted by how often it decided, the most frequent first. */
  reasons(scope: Scope, from: Date): Promise<DecidingReason[]> {
    const { values, where } = autoRecords(scope, from);
    return this.database.query<DecidingReason>(
      `SELECT coalesce(r.auto_decision->>'reason', 'fallback') AS reason, count(*)::integer AS requests
         FROM request_record r WHERE ${where} GROUP BY 1 ORDER BY 2 DESC, 1`,
      values,
    );
  }

  /** Weeks begin on Mondays in the reader's zone; those without a request are not there. */
  async byWeek(scope: Scope, from: Date, timeZone: string): Promise<WeekOfDecisions[]> {
    const { values, where } = autoRecords(scope, from);
    values.push(timeZone);
    const rows = await this.database.query<WeekOfDecisions>(
      `SELECT to_char(date_trunc('week', r.created_at AT TIME ZONE $${values.length}), 'YYYY-MM-DD') AS week,
              count(*)::integer AS requests,
              count(*) FILTER (WHERE ${answeredBy} <> r.auto_decision->>'ref')::integer AS away,
              (${estimatedRatio})::float8 AS "estimatedCostRatio"
         FROM request_record r WHERE ${where} GROUP BY 1 ORDER BY 1`,
      values,
    );
    return rows;
  }

  byDay(scope: Scope, from: Date, timeZone: string): Promise<ChosenOnDay[]> {
    const { values, where } = autoRecords(scope, from);
    values.push(timeZone);
    return this.database.query<ChosenOnDay>(
      `SELECT to_char(r.created_at AT TIME ZONE $${values.length}, 'YYYY-MM-DD') AS day, ${answeredBy} AS model,
              count(*)::integer AS requests FROM request_record r WHERE ${where} GROUP BY 1, 2 ORDER BY 1, 3 DESC`,
      values,
    );
  }

  /** The newest first. */
  latest(scope: Scope, from: Date): Promise<MadeDecision[]> {
    const { values, where } = autoRecords(scope, from);
    return this.database.query<MadeDecision>(
      `SELECT r.request_id AS "requestId", r.created_at AS "createdAt", ${answeredBy} AS chosen,
              r.auto_decision->>'ref' AS reference, coalesce(r.auto_decision->>'reason', '') AS reason,
              r.auto_decision->>'bucket' AS bucket, coalesce(r.auto_decision->>'drift', 'calm') AS drift,
              (r.auto_decision->>'cost_ratio')::float8 AS "costRatio",
              (r.auto_decision->>'quality_difference')::float8 AS "qualityDifference",
              coalesce(r.auto_decision->'candidates', '[]') AS candidates,
              coalesce(r.auto_decision->'excluded', '{}') AS excluded, r.auto_decision AS explanation
         FROM request_record r WHERE ${where} ORDER BY r.created_at DESC, r.request_id DESC LIMIT ${LATEST}`,
      values,
    );
  }

  /** It reads some requests of one person; those that did not ask for auto are not among them. */
  async ofRequests(userId: number, requestIds: readonly string[]): Promise<ReadonlyMap<string, ChoiceMade>> {
    if (requestIds.length === 0) return new Map();
    const rows = await this.database.query<ChoiceMade & { readonly requestId: string }>(
      `SELECT r.request_id AS "requestId", ${answeredBy} AS model, coalesce(r.auto_decision->>'reason', '') AS reason
         FROM request_record r
        WHERE r.request_id = ANY ($2::uuid[]) AND r.user_id = $1 AND r.model = 'auto' AND r.auto_decision IS NOT NULL`,
      [userId, requestIds],
    );
    return new Map(rows.map(({ requestId, ...choice }) => [requestId, choice]));
  }

  /** Why the model of one request was chosen; null where it named its model, or the scope does not hold it. */
  async explanationOf(scope: Scope, requestId: string) {
    const values: unknown[] = [requestId];
    const [row] = await this.database.query<{ explanation: AutoDecision | null }>(
      `SELECT r.auto_decision AS explanation FROM request_record r
        WHERE r.request_id = $1 AND ${withinRecordScope(scope, new SqlParameters(values), 'r')}`,
      values,
    );
    return row?.explanation ?? null;
  }

  /** Each reason is counted by how often it took a model out of the choice. */
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

  /** It takes the latest judge that scored enough pairs: scores of two judges are never compared. */
  async measured(scope: Scope, from: Date): Promise<MeasuredDifference> {
    const { values, where } = autoRecords(scope, from);
    const rows = await this.database.query<
      Weighted & Record<'cost' | 'costOther' | 'late' | 'lateOther', number>
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
           ORDER BY count(*) >= ${LEAST_SAMPLE} DESC, max(judged_at) DESC LIMIT 1)
        ORDER BY judged_at DESC LIMIT ${MOST_PAIRS}`,
      values,
    );
    if (rows.length < LEAST_SAMPLE)
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
