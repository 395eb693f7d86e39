import { type Fault, fault, monotonicMs } from '../../kernel';
import type { LaneHealth, RoutePlan } from '../../routing';
import type { Judgement } from './judge';

/**
 * The error when no lane answered: the single cause, or that there were several. A backup's complaint about the
 * request counts only when there was no other cause.
 */
export function exhausted(
  outcomes: readonly Judgement[],
  plan: RoutePlan,
  health: LaneHealth,
  keyId: number,
): Fault {
  const failed = outcomes.filter(({ kind }) => kind === 'failed').map(({ problem }) => problem);
  const last = failed.at(-1) ?? outcomes.at(-1)?.problem;
  if (last === undefined) return nothingHealthy(plan, health, keyId);
  if (failed.every(({ code }) => code === last.code)) return last;
  const waits = failed.map(({ options }) => options.retryAfterSeconds ?? Infinity);
  const soonest = Math.min(...waits);
  return fault('all_providers_exhausted', {
    ...(Number.isFinite(soonest) ? { retryAfterSeconds: soonest } : {}),
    details: { outcomes: failed.map(({ code }) => code) },
    cause: last,
  });
}

/** Every lane rests: the error names the time until the first of them may be tried. */
function nothingHealthy({ lanes }: RoutePlan, health: LaneHealth, keyId: number): Fault {
  const now = monotonicMs();
  const next = Math.min(...lanes.map(({ lane }) => health.nextTryAt(lane, keyId, now)));
  const retryAfterSeconds = Number.isFinite(next) ? Math.max(1, Math.ceil((next - now) / 1_000)) : 1;
  const areLimited = lanes.length > 0 && lanes.every(({ lane }) => health.isPaused(lane, now));
  return fault(areLimited ? 'supplier_limit' : 'no_providers_available', { retryAfterSeconds });
}
