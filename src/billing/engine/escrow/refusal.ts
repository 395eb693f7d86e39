import { type Fault, fault, formatUsd, type Nano } from '../../../kernel';
import type { LimitRef } from '../../scope';

/** What is left of the limit, with everything that runs paid for, is less than the request needs. */
export function spent(ref: LimitRef, needed: Nano, remaining: Nano, resetsAt: number): Fault {
  const what = ref.kind === 'wallet' ? 'balance' : 'budget';
  return fault(ref.kind === 'wallet' ? 'billing_limit_reached' : 'budget_exceeded', {
    ...(remaining > 0n && {
      message:
        `This request may cost up to $${formatUsd(needed)}, and $${formatUsd(remaining)} of the ${what} is left. ` +
        'Ask for a shorter answer, or have more made available.',
    }),
    details: {
      needed_usd: formatUsd(needed),
      remaining_usd: formatUsd(remaining > 0n ? remaining : 0n),
      scope: ref.kind,
    },
    ...(Number.isFinite(resetsAt) ? { resetsAt: new Date(resetsAt) } : {}),
  });
}

/** Enough is left, but other requests hold it. */
export const inUse = (scope: LimitRef | undefined, needed: Nano): Fault =>
  fault('capacity_exceeded', {
    details: { needed_usd: formatUsd(needed), ...(scope ? { scope: scope.kind } : {}) },
    retryAfterSeconds: 1,
  });

export const cannotCheck = (cause?: unknown): Fault =>
  fault('billing_unavailable', { retryAfterSeconds: 2, ...(cause === undefined ? {} : { cause }) });
