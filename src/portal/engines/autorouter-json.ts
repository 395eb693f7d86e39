import { formatUsd, type Scope, toJsonNumber } from '../../kernel';
import { presentAutoPolicy } from '../../autorouter';
import type { AutorouterFacts } from './autorouter-facts';

/** The figures of the page for programs. What is null has not enough data. */
export function presentAutorouter(facts: AutorouterFacts, scope: Scope) {
  const { chosen, report, policy, evaluationSpend } = facts;
  return {
    object: 'autorouter',
    days: facts.days,
    from: facts.period.from.toISOString(),
    to: facts.period.to.toISOString(),
    zone: facts.timeZone,
    scope: scope.kind,
    engine: policy.mode,
    policy: {
      effective: presentAutoPolicy(facts.levels),
      source_level: policy.level,
      levels: ownLevels(facts.levels, scope),
    },
    requests: chosen.reduce((sum, { requests }) => sum + requests, 0),
    cost: toJsonNumber(chosen.reduce((sum, { costNano }) => sum + costNano, 0n)),
    totals: presentTotals(facts),
    models: chosen.map(({ model, requests, failures, costNano, meanLatencyMs }) => ({
      model,
      requests,
      failures,
      cost: toJsonNumber(costNano),
      mean_latency_ms: Math.round(meanLatencyMs),
    })),
    by_day: facts.byDay,
    by_week: facts.byWeek.map(({ estimatedCostRatio, ...week }) => ({
      ...week,
      estimated_cost_ratio: estimatedCostRatio,
    })),
    reasons: facts.reasons,
    candidates: facts.candidates,
    reference: facts.reference,
    dial_preview: facts.dials.map(presentDial),
    by_model: report?.models ?? [],
    by_bucket: report?.buckets ?? [],
    judge_version: report?.judgeVersion ?? null,
    quality_reports: facts.quality,
    is_simulated: facts.isSimulated,
    decisions: facts.latest.map(presentDecision),
    excluded: facts.excluded,
    calibration: report?.calibration.bins ?? [],
    calibration_error: report?.calibration.error ?? null,
    learning: presentLearning(facts),
    evaluation_spend_usd: evaluationSpend === null ? null : formatUsd(evaluationSpend),
  };
}

/** The levels that the reader may set: what others wrote down there is for those who administer it. */
function ownLevels(levels: AutorouterFacts['levels'], { kind }: Scope): AutorouterFacts['levels'] {
  if (kind === 'platform') return levels;
  const { platform: _platform, organisation, ...own } = levels;
  return kind === 'organisation' && organisation !== undefined ? { organisation, ...own } : own;
}

const presentTotals = ({ totals, measured }: AutorouterFacts) => ({
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

const presentDial = ({ dial, pairs, away, difference, costRatio }: AutorouterFacts['dials'][number]) => ({
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
}: AutorouterFacts['latest'][number]) => ({
  request_id: requestId,
  created_at: createdAt,
  ...decision,
  cost_ratio: costRatio,
  quality_difference: qualityDifference,
});

const presentLearning = ({ learning, learnedAt, stateVersion }: AutorouterFacts) => ({
  judged: learning?.judged ?? 0,
  needed: learning?.needed ?? null,
  ready: learning?.ready ?? false,
  models: learning?.models ?? [],
  last_update: learnedAt,
  state_version: stateVersion,
});
