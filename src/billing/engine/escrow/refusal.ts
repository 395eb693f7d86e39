import { type Fault, fault, formatUsd, isInvoiceAccount, type Nano } from '../../../kernel';
import type { LimitRef, ScopeKind } from '../../scope';

const scopeNames: Readonly<Record<ScopeKind | 'invoice', string>> = {
  key: 'budget of this API key',
  key_model: 'budget of this API key for this model',
  project: 'budget of the project',
  department: 'budget of the department',
  user: 'budget of the person to whom this API key belongs',
  user_budget: 'budget that the organisation gives the person to whom this API key belongs',
  organisation: 'budget of the organisation',
  wallet: 'balance',
  invoice: 'credit limit',
};

/** Refusal of a request that needs more than the limit will have left once all running requests are charged. */
export function exhaustedFault(ref: LimitRef, needed: Nano, remaining: Nano, resetsAt: number): Fault {
  const scope = nameOf(ref);
  return fault(ref.kind === 'wallet' ? 'billing_limit_reached' : 'budget_exceeded', {
    ...messageOf(scope, needed, remaining, Number.isFinite(resetsAt)),
    details: {
      needed_usd: formatUsd(needed),
      remaining_usd: formatUsd(remaining > 0n ? remaining : 0n),
      scope,
    },
    ...(Number.isFinite(resetsAt) ? { resetsAt: new Date(resetsAt) } : {}),
  });
}

/** Names the credit limit instead of the balance for a payer by invoice. */
const nameOf = ({ kind, id }: LimitRef): ScopeKind | 'invoice' =>
  kind === 'wallet' && isInvoiceAccount(id) ? 'invoice' : kind;

function messageOf(
  scope: ReturnType<typeof nameOf>,
  needed: Nano,
  remaining: Nano,
  resets: boolean,
): { message?: string } {
  if (remaining > 0n) {
    return {
      message:
        `This request may cost up to $${formatUsd(needed)}, and $${formatUsd(remaining)} of the ${scopeNames[scope]} is left. ` +
        'Ask for a shorter answer, or have more made available.',
    };
  }
  if (scope === 'wallet') return {};
  if (scope !== 'invoice')
    return {
      message: `The ${scopeNames[scope]} is used up. ${resets ? 'It resets by itself, or its' : 'Its'} limit can be raised.`,
    };
  return {
    message:
      'What is not invoiced or not paid yet has reached the credit limit of the payer. ' +
      'Have an invoice paid, or the credit limit raised.',
  };
}

/** Refusal when enough remains, but other requests hold it. */
export const inUseFault = (scope: LimitRef | undefined, needed: Nano): Fault =>
  fault('capacity_exceeded', {
    details: { needed_usd: formatUsd(needed), ...(scope ? { scope: nameOf(scope) } : {}) },
    retryAfterSeconds: 1,
  });

export const unavailableFault = (cause?: unknown): Fault =>
  fault('billing_unavailable', { retryAfterSeconds: 2, ...(cause === undefined ? {} : { cause }) });
