import { formatUsd } from '../../kernel';
import type { StoredRow } from '../../platform';
import type { RubricScores } from '../judge/rubric';

const SCORE =
  's.id, s.request_id, s.created_at, s.model, s.supplier, s.region, s.role, s.tokens_in, s.tokens_out, s.cost_nano, s.latency_ms, s.finish_reason, s.judge_model, s.judge_version, s.rubric_version, s.score_total, s.verdict, s.pair_preference, s.order_swapped, s.self_family, s.is_simulated, s.judge_cost_nano, s.judge_latency_ms, s.predicted_q, s.predicted_sd, s.state_version';
const SAMPLE =
  'q.department_id, q.project_id, q.user_id, q.key_id, q.session_hash, q.requested_model, q.served_model, q.bucket, q.sampled_by, q.inclusion_prob';

/** A judged reply in lists, files and details: never with a text. */
export type ScoreRow = StoredRow<'quality_score', typeof SCORE> &
  StoredRow<'quality_sample', typeof SAMPLE> & {
    readonly org_id: number;
    readonly key_public_id: string | null;
    readonly endpoint: string;
    readonly lang: string;
    readonly ttft_ms: number | null;
    readonly scores: RubricScores | null;
    readonly objective_flags: readonly string[];
    readonly redactions: Readonly<Record<string, number>>;
    readonly content_available: boolean;
    readonly retention_until: Date | null;
  };

export const scoreColumns = `
  ${SCORE}, ${SAMPLE},
  s.organisation_id AS org_id, q.surface AS endpoint, q.language AS lang, s.first_token_ms AS ttft_ms, s.scores,
  s.objective_flags || coalesce((
    SELECT array_remove(ARRAY['thumb_' || f.verdict, CASE WHEN f.retried_at IS NOT NULL THEN 'retried' END], NULL)
      FROM answer_feedback f WHERE f.request_id = s.request_id AND s.role = 'served'), '{}') AS objective_flags,
  q.redactions, s.content IS NOT NULL AND q.state = 'learned' AS content_available,
  q.content_until AS retention_until,
  (SELECT k.public_id FROM api_key k WHERE k.id = q.key_id) AS key_public_id`;

export function presentScore({ id: _id, cost_nano, judge_cost_nano, redactions, ...row }: ScoreRow) {
  return {
    ...row,
    pair_id: row.request_id,
    pair_model: row.role === 'replay' ? row.served_model : null,
    tokens_in: Number(row.tokens_in),
    tokens_out: Number(row.tokens_out),
    cost_usd: formatUsd(BigInt(cost_nano)),
    judge_cost_usd: formatUsd(BigInt(judge_cost_nano)),
    redacted: Object.keys(redactions).length > 0,
    redactions,
    state_version: row.state_version === null ? null : Number(row.state_version),
  };
}

const scoreParts = ['correctness', 'instruction', 'completeness', 'clarity', 'safety'] as const;

type PresentedScore = ReturnType<typeof presentScore>;
const plainColumns = [
  'request_id',
  'created_at',
  'org_id',
  'department_id',
  'project_id',
  'user_id',
  'key_id',
  'session_hash',
  'endpoint',
  'requested_model',
  'served_model',
  'model',
  'supplier',
  'region',
  'role',
  'pair_id',
  'pair_model',
  'bucket',
  'lang',
  'tokens_in',
  'tokens_out',
  'cost_usd',
  'latency_ms',
  'ttft_ms',
  'finish_reason',
  'sampled_by',
  'inclusion_prob',
  'judge_model',
  'judge_version',
  'rubric_version',
  'is_simulated',
  'score_total',
  'verdict',
  'pair_preference',
  'order_swapped',
  'self_family',
  'judge_cost_usd',
  'judge_latency_ms',
  'redacted',
  'content_available',
  'retention_until',
  'predicted_q',
  'predicted_sd',
  'state_version',
] as const satisfies readonly (keyof PresentedScore)[];

export const scoreFileColumns: readonly string[] = [
  ...plainColumns,
  ...scoreParts.map((part) => `score_${part}`),
  'objective_flags',
  'key_public_id',
];

export function scoreFileRow(row: ScoreRow): readonly unknown[] {
  const presented = presentScore(row);
  return [
    ...plainColumns.map((name) => presented[name]),
    ...scoreParts.map((part) => row.scores?.[part] ?? null),
    row.objective_flags.join(' '),
    presented.key_public_id,
  ];
}
