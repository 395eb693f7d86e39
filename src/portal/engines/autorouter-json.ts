import { formatUsd, type Scope, toJsonNumber } from '../../kernel';
import { presentAutoPolicy } from '../../autorouter';
import type { AutorouterData } from './autorouter-data';

/** JSON representation of the page's figures. Null means too little data. */
export function presentAutorouter(data: AutorouterData, scope: Scope) {
  const { chosen, report, policy, evaluationSpend } = data;
  return {
    object: 'autorouter',
    days: data.days,
    from: data.period.from.toISOString(),
    to: data.period.to.toISOString(),
    zone: data.timeZone,
    scope: scope.kind,
    engine: policy.mode,
    policy: {
      effective: presentAutoPolicy(data.levels),
      source_level: policy.level,
      levels: ownLevels(data.levels, scope),
    },
    requests: chosen.reduce((sum, { requests }) => sum + requests, 0),
    cost: toJsonNumber(chosen.reduce((sum, { costNano }) => sum + costNano, 0n)),
    totals: presentTotals(data),
    models: chosen.map(({ model, requests, failures, costNano, meanLatencyMs }) => ({
      model,
      requests,
      failures,
      cost: toJsonNumber(costNano),
      mean_latency_ms: Math.round(meanLatencyMs),
    })),
    by_day: data.byDay,
    by_week: data.byWeek.map(({ estimatedCostRatio, ...week }) => ({
      ...week,
      estimated_cost_ratio: estimatedCostRatio,
    })),
    reasons: data.reasons,
    candidates: data.candidates,
    reference: data.reference,
    dial_preview: data.dials.map(presentDial),
    by_model: report?.models ?? [],
    by_bucket: report?.buckets ?? [],
    judge_version: report?.judgeVersion ?? null,
    quality_reports: data.quality,
    is_simulated: data.isSimulated,
    decisions: data.latest.map(presentDecision),
    excluded: data.excluded,
    calibration: report?.calibration.bins ?? [],
    calibration_error: report?.calibration.error ?? null,
    learning: presentLearning(data),
    evaluation_spend_usd: evaluationSpend === null ? null : formatUsd(evaluationSpend),
  };
}

/** Returns the levels the reader can set; other levels are visible only to their administrators. */
function ownLevels(levels: AutorouterData['levels'], { kind }: Scope): AutorouterData['levels'] {
  if (kind === 'platform') return levels;
  const { platform: _platform, organisation, ...own } = levels;
  return kind === 'organisation' && organisation !== undefined ? { organisation, ...own } : own;
}

const presentTotals = ({ totals, measured }: AutorouterData) => ({
  decisions: totals.requests,
  away_from_reference: totals.away,
  failovers: totals.failovers,
  sticky_kept: totals.stickyKept,
  sticky_broken: totals.stickyBroken,
  cost_usd: formatUsd(totals.costNano),
  estimated_cost_ratio: totals.estimatedCostRatio,
  measured: {
    pairs: measured.pairs,
    quality_difference: measured.quality,
    cost_ratio: measured.costRatio?.value ?? null,
    cost_ratio_interval:
      measured.costRatio === null ? null : { low: measured.costRatio.low, high: measured.costRatio.high },
    latency_difference_ms: measured.latencyMs,
  },
});

const presentDial = ({ dial, pairs, away, difference, costRatio }: AutorouterData['dials'][number]) => ({
  dial,
  pairs,
  away_from_reference: away,
  quality_difference: difference,
  cost_ratio: costRatio,
});

const presentDecision = ({
  requestId,
  createdAt,
  costRatio,
  qualityDifference,
  ...decision
}: AutorouterData['latest'][number]) => ({
  request_id: requestId,
  created_at: createdAt,
  ...decision,
  cost_ratio: costRatio,
  quality_difference: qualityDifference,
});

const presentLearning = ({ learning, learnedAt, stateVersion }: AutorouterData) => ({
  judged: learning?.judged ?? 0,
  needed: learning?.needed ?? null,
  ready: learning?.ready ?? false,
  models: learning?.models ?? [],
  last_update: learnedAt,
  state_version: stateVersion,
});
