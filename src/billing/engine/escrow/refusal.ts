import { type Fault, fault, formatUsd, type Nano } from '../../../kernel';
import type { LimitRef } from '../../scope';

const names: Readonly<Record<LimitRef['kind'], string>> = {
  key: 'budget of this API key',
  key_model: 'budget of this API key for this model',
  project: 'budget of the project',
  department: 'budget of the department',
  user: 'budget of the person to whom this API key belongs',
  user_budget: 'budget that the organisation gives the person to whom this API key belongs',
  organisation: 'budget of the organisation',
  wallet: 'balance',
};

/** What is left of the limit, with everything that runs paid for, is less than the request needs. */
export function spent(ref: LimitRef, needed: Nano, remaining: Nano, resetsAt: number): Fault {
  const what = names[ref.kind];
  const isWallet = ref.kind === 'wallet';
  return fault(isWallet ? 'billing_limit_reached' : 'budget_exceeded', {
    ...(remaining > 0n
      ? {
          message:
            `This request may cost up to $${formatUsd(needed)}, and $${formatUsd(remaining)} of the ${what} is left. ` +
            'Ask for a shorter answer, or have more made available.',
        }
      : !isWallet && { message: `The ${what} is used up. It resets by itself, or its limit can be raised.` }),
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
