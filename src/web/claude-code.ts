import type { IncomingMessage } from 'node:http';
import type { Fault, Rendered } from '../kernel';

/** A budget of the caller, as far as it is used: 1 is all of it. */
export interface BudgetShare {
  readonly share: number;
  /** Null if the budget never resets. */
  readonly resetsAt: Date | null;
}

const HEADER = 'anthropic-ratelimit-unified-';
const WARNING_SHARES = [0.95, 0.75];
const SPENT_STATUS = 429;
/** Retry-After of a budget that never resets; somebody has to raise it. */
const RAISE_SECONDS = 3_600;

/** Claude Code and agents of its SDK; anybody can say so, hence nothing but the form of answers depends on it. */
export const isClaudeCode = ({ headers }: Pick<IncomingMessage, 'headers'>): boolean =>
  headers['user-agent']?.startsWith('claude-cli/') === true;

/** The share as shown: a budget with something left never reads as used up. */
export const shownShare = (share: number): number =>
  share >= 1 ? share : Math.min(Math.round(share * 100) / 100, 0.99);

/** Headers of Claude Code's gateway contract on an answer. */
export function budgetHeaders({ share, resetsAt }: BudgetShare): Record<string, string> {
  const surpassed = WARNING_SHARES.find((each) => share > each);
  const status = surpassed === undefined ? 'allowed' : 'allowed_warning';
  return {
    [`${HEADER}status`]: status,
    [`${HEADER}representative-claim`]: 'overage',
    [`${HEADER}overage-status`]: status,
    ...usedHeaders(shownShare(share), resetsAt),
    ...(surpassed !== undefined && { [`${HEADER}overage-surpassed-threshold`]: String(surpassed) }),
  };
}

/** A refused budget in the form of that contract; Claude Code takes any other status for another trouble. */
export function renderSpentBudget(rendered: Rendered, { options: { resetsAt } }: Fault): Rendered {
  const seconds =
    resetsAt === undefined
      ? RAISE_SECONDS
      : Math.max(1, Math.ceil((resetsAt.getTime() - Date.now()) / 1_000));
  return {
    ...rendered,
    status: SPENT_STATUS,
    headers: {
      ...rendered.headers,
      'retry-after': String(seconds),
      [`${HEADER}status`]: 'rejected',
      [`${HEADER}overage-surpassed-threshold`]: '1',
      [`${HEADER}overage-disabled-reason`]: 'org_spend_cap_reached',
      ...usedHeaders(1, resetsAt ?? null),
    },
  };
}

function usedHeaders(share: number, resetsAt: Date | null): Record<string, string> {
  const used = { [`${HEADER}overage-utilization`]: String(share) };
  if (resetsAt === null) return used;
  const reset = String(Math.floor(resetsAt.getTime() / 1_000));
  return { ...used, [`${HEADER}reset`]: reset, [`${HEADER}overage-reset`]: reset };
}
