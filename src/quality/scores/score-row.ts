import { formatUsd } from '../../kernel';
import type { RubricScores } from '../judge/rubric';

/** It is one judged answer as lists, files and the detail show it: never with a text. */
export interface ScoreRow {
  readonly id: string;
  readonly request_id: string;
  readonly created_at: Date;
  readonly org_id: number;
  readonly department_id: number | null;
  readonly project_id: number | null;
  readonly user_id: number | null;
  readonly key_id: number;
  readonly key_public_id: string | null;
  readonly session_hash: string | null;
  readonly endpoint: string;
  readonly requested_model: string;
  readonly served_model: string;
  readonly model: string;
  readonly supplier: string;
  readonly region: string | null;
  readonly role: 'served' | 'replay';
  readonly bucket: string;
  readonly lang: string;
  readonly tokens_in: string;
  readonly tokens_out: string;
  readonly cost_nano: string;
  readonly latency_ms: number;
  readonly ttft_ms: number | null;
  readonly finish_reason: string | null;
  readonly sampled_by: string;
  readonly inclusion_prob: number;
  readonly judge_model: string | null;
  readonly judge_version: string | null;
  readonly rubric_version: string | null;
  readonly score_total: number | null;
  readonly scores: RubricScores | null;
  readonly verdict: 'ok' | 'unjudgeable' | 'judge_error' | null;
  readonly pair_preference: 'a' | 'b' | 'tie' | 'inconsistent' | null;
  readonly order_swapped: boolean;
  readonly self_family: boolean;
  readonly is_simulated: boolean;
  readonly objective_flags: readonly string[];
  readonly judge_cost_nano: string;
  readonly judge_latency_ms: number | null;
  readonly redactions: Readonly<Record<string, number>>;
  readonly content_available: boolean;
  readonly retention_until: Date | null;
  readonly predicted_q: number | null;
  readonly predicted_sd: number | null;
  readonly state_version: string | null;
}

/** `quality_score s` and `quality_sample q` have them like this. */
export const scoreColumns = `
  s.id::text AS id, s.request_id, s.created_at, s.organisation_id AS org_id, q.department_id, q.project_id, q.user_id,
  q.key_id, q.session_hash, q.surface AS endpoint, q.requested_model, q.served_model, s.model, s.supplier, s.region,
  s.role, q.bucket, q.language AS lang, s.tokens_in::text AS tokens_in, s.tokens_out::text AS tokens_out,
  s.cost_nano::text AS cost_nano, s.latency_ms, s.first_token_ms AS ttft_ms, s.finish_reason, q.sampled_by,
  q.inclusion_prob, s.judge_model, s.judge_version, s.rubric_version, s.score_total, s.scores, s.verdict,
  s.pair_preference, s.order_swapped, s.self_family, s.is_simulated,
  s.objective_flags || coalesce((
    SELECT array_remove(ARRAY['thumb_' || f.verdict, CASE WHEN f.retried_at IS NOT NULL THEN 'retried' END], NULL)
      FROM answer_feedback f WHERE f.request_id = s.request_id AND s.role = 'served'), '{}') AS objective_flags,
  s.judge_cost_nano::text AS judge_cost_nano, s.judge_latency_ms, q.redactions,
  s.content IS NOT NULL AND q.state = 'learned' AS content_available, q.content_until AS retention_until,
  s.predicted_q, s.predicted_sd, s.state_version::text AS state_version,
  (SELECT k.public_id FROM api_key k WHERE k.id = q.key_id) AS key_public_id`;

/** A row as JSON and files show it. */
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

const parts = ['correctness', 'instruction', 'completeness', 'clarity', 'safety'] as const;

type Presented = ReturnType<typeof presentScore>;
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
] as const satisfies readonly (keyof Presented)[];

export const scoreFileColumns: readonly string[] = [
  ...plainColumns,
  ...parts.map((part) => `score_${part}`),
  'objective_flags',
  'key_public_id',
];

export function scoreFileRow(row: ScoreRow): readonly unknown[] {
  const presented = presentScore(row);
  return [
    ...plainColumns.map((name) => presented[name]),
    ...parts.map((part) => row.scores?.[part] ?? null),
    row.objective_flags.join(' '),
    presented.key_public_id,
  ];
}
