import { Injectable } from '@nestjs/common';
import { MIN_SAMPLE_SIZE, type Scope } from '../../kernel';
import { Database } from '../../platform';
import { autoRecords } from './auto-records';
import type { JudgedDecision } from './dial-preview';

const MAX_DECISIONS = 1_000;

/**
 * Reads the latest decisions whose answers were judged, with the scores of the latest judge that scored enough of them.
 */
@Injectable()
export class JudgedDecisions {
  constructor(private readonly database: Database) {}

  /** Newest first. */
  async latest(scope: Scope, from: Date): Promise<JudgedDecision[]> {
    const { values, where } = autoRecords(scope, from);
    const rows = await this.database.query<JudgedDecisionRow>(
      `WITH judged AS (
         SELECT r.request_id, r.created_at, r.auto_decision AS made, 1 / q.inclusion_prob AS weight
           FROM request_record r JOIN quality_sample q ON q.request_id = r.request_id AND q.state = 'learned'
          WHERE ${where} AND r.auto_decision->'policy'->>'kappa' IS NOT NULL
          ORDER BY r.created_at DESC, r.request_id DESC LIMIT ${MAX_DECISIONS}),
       score AS (
         SELECT s.request_id, s.judge_version, s.judged_at, s.model, s.score_total, s.cost_nano
           FROM quality_score s JOIN judged USING (request_id) WHERE s.verdict = 'ok')
       SELECT j.made->>'ref' AS reference, (j.made->>'novelty')::float8 AS novelty, j.weight,
              (j.made->'policy'->>'kappa')::float8 AS kappa, (j.made->'policy'->>'z')::float8 AS z,
              (j.made->>'ref_cost')::float8 AS "referenceCost", coalesce(j.made->'candidates', '[]') AS candidates,
              jsonb_object_agg(s.model, jsonb_build_object('score', s.score_total, 'costNano', s.cost_nano)) AS answers
         FROM judged j JOIN score s USING (request_id)
        WHERE s.judge_version = (
          SELECT judge_version FROM score GROUP BY 1
           ORDER BY count(DISTINCT request_id) >= ${MIN_SAMPLE_SIZE} DESC, max(judged_at) DESC NULLS LAST LIMIT 1)
        GROUP BY j.request_id, j.created_at, j.made, j.weight ORDER BY j.created_at DESC, j.request_id DESC`,
      values,
    );
    return rows.map(({ kappa, z, referenceCost, ...row }) => ({
      ...row,
      novelty: row.novelty ?? 0,
      tuning: { kappa, z },
      referenceCost: referenceCost ?? predictedReferenceCost(row),
    }));
  }
}

interface JudgedDecisionRow extends Omit<JudgedDecision, 'tuning' | 'referenceCost' | 'novelty'> {
  readonly kappa: number;
  readonly z: number;
  readonly novelty: number | null;
  readonly referenceCost: number | null;
}

/** Decisions of older versions lack the usual cost of the reference; its predicted cost is used instead. */
const predictedReferenceCost = ({
  candidates,
  reference,
}: Pick<JudgedDecisionRow, 'candidates' | 'reference'>): number =>
  candidates.find(({ model }) => model === reference)?.cost_est ?? 1;
