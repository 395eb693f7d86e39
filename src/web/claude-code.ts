import type { IncomingMessage } from 'node:http';
import type { Fault, RenderedError } from '../kernel';

/** Used share of a caller's budget; 1 means used up. */
export interface BudgetShare {
  readonly share: number;
  /** Null if the budget never resets. */
  readonly resetsAt: Date | null;
}

const HEADER = 'anthropic-ratelimit-unified-';
const WARNING_SHARES = [0.95, 0.75];
const SPENT_STATUS = 429;
/** Retry-After of a budget that never resets and has to be raised. */
const RAISE_SECONDS = 3_600;

/** Claude Code and agents of its SDK. The header can be forged, so it decides only the format of responses. */
export const isClaudeCode = ({ headers }: Pick<IncomingMessage, 'headers'>): boolean =>
  headers['user-agent']?.startsWith('claude-cli/') === true;

/** Rounded share; a budget with something left never reads as used up. */
export const displayedShare = (share: number): number =>
  share >= 1 ? share : Math.min(Math.round(share * 100) / 100, 0.99);

export function budgetHeaders({ share, resetsAt }: BudgetShare): Record<string, string> {
  const surpassed = WARNING_SHARES.find((each) => share > each);
  const status = surpassed === undefined ? 'allowed' : 'allowed_warning';
  return {
    [`${HEADER}status`]: status,
    [`${HEADER}representative-claim`]: 'overage',
    [`${HEADER}overage-status`]: status,
    ...usageHeaders(displayedShare(share), resetsAt),
    ...(surpassed !== undefined && { [`${HEADER}overage-surpassed-threshold`]: String(surpassed) }),
  };
}

/** Renders a rejected budget as that contract requires; Claude Code misreads any other status. */
export function renderSpentBudget(rendered: RenderedError, { options: { resetsAt } }: Fault): RenderedError {
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
      ...usageHeaders(1, resetsAt ?? null),
    },
  };
}

function usageHeaders(share: number, resetsAt: Date | null): Record<string, string> {
  const headers = { [`${HEADER}overage-utilization`]: String(share) };
  if (resetsAt === null) return headers;
  const reset = String(Math.floor(resetsAt.getTime() / 1_000));
  return { ...headers, [`${HEADER}reset`]: reset, [`${HEADER}overage-reset`]: reset };
}
