import { type Fault, fault, monotonicMs } from '../../kernel';
import type { LaneHealth, RoutePlan } from '../../routing';
import type { FailedAttempt } from './classify-failure';

/**
 * Error when no lane responded: the common cause, or a summary of several. A backup's complaint about the request
 * counts only if there is no other cause.
 */
export function exhaustedError(
  outcomes: readonly FailedAttempt[],
  plan: RoutePlan,
  health: LaneHealth,
  keyId: number,
): Fault {
  const problems = outcomes.filter(({ kind }) => kind === 'failed').map(({ problem }) => problem);
  const last = problems.at(-1) ?? outcomes.at(-1)?.problem;
  if (last === undefined) return noHealthyLaneError(plan, health, keyId);
  if (problems.every(({ code }) => code === last.code)) return last;
  const waits = problems.map(({ options }) => options.retryAfterSeconds ?? Infinity);
  const soonest = Math.min(...waits);
  return fault('all_providers_exhausted', {
    ...(Number.isFinite(soonest) ? { retryAfterSeconds: soonest } : {}),
    details: { outcomes: problems.map(({ code }) => code) },
    cause: last,
  });
}

function noHealthyLaneError({ lanes }: RoutePlan, health: LaneHealth, keyId: number): Fault {
  const now = monotonicMs();
  const next = Math.min(...lanes.map(({ lane }) => health.nextTryAt(lane, keyId, now)));
  const retryAfterSeconds = Number.isFinite(next) ? Math.max(1, Math.ceil((next - now) / 1_000)) : 1;
  const areLimited = lanes.length > 0 && lanes.every(({ lane }) => health.isPaused(lane, now));
  return fault(areLimited ? 'supplier_limit' : 'no_providers_available', { retryAfterSeconds });
}
