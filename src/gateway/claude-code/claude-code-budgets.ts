import { Injectable } from '@nestjs/common';
import { type BudgetScope, Limits, type LimitState, shareOf } from '../../billing';
import { nanoPerCent } from '../../kernel';
import type { Caller } from '../../keys';
import { type BudgetShare, type HttpRequest, isClaudeCode, displayedShare } from '../../web';
import { callerOf } from '../intake';

/** Maximum delay of a response for the budget in its headers. */
const MAX_READ_MS = 250;

const periodNames: Readonly<Partial<Record<LimitState['period'], string>>> = {
  daily: 'daily',
  monthly: 'monthly',
  rolling: 'monthly',
};

@Injectable()
export class ClaudeCodeBudgets {
  constructor(private readonly limits: Limits) {}

  /** Sets the most used budget on a request of Claude Code, for the response headers; null for other clients. */
  setMostUsedBudget(request: HttpRequest): Promise<void> | null {
    if (!isClaudeCode(request)) return null;
    const reading = this.budgetsOf(callerOf(request)).then(
      ([first]) => void (first !== undefined && (request.mostUsedBudget = budgetShareOf(first))),
      // The response matters more than its budget headers.
      () => undefined,
    );
    const { promise: timeout, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, MAX_READ_MS);
    return Promise.race([reading, timeout]).finally(() => clearTimeout(timer));
  }

  async usageOf(caller: Caller) {
    const budgets = await this.budgetsOf(caller);
    const [first] = budgets;
    if (first === undefined) return null;
    return {
      extra_usage: {
        is_enabled: true,
        monthly_limit: Number((first.limit + first.raised) / nanoPerCent),
        used_credits: Number(first.spent / nanoPerCent),
        utilization: percentOf(first),
        currency: 'USD',
      },
      limits: budgets.map((each, index) => ({
        kind: 'spend',
        group: periodNames[each.period] ?? null,
        percent: percentOf(each),
        resets_at: each.resetsAt?.toISOString() ?? null,
        severity: severityOf(shareOf(each)),
        is_active: index === 0,
      })),
    };
  }

  private async budgetsOf({ limits }: Caller): Promise<LimitState[]> {
    const budgets = limits.filter((ref): ref is BudgetScope => ref.kind !== 'wallet');
    const states = await this.limits.states(budgets);
    return states.filter((state) => state !== null).sort((one, other) => shareOf(other) - shareOf(one));
  }
}

const budgetShareOf = (state: LimitState): BudgetShare => ({
  share: shareOf(state),
  resetsAt: state.resetsAt,
});

const percentOf = (state: LimitState): number => Math.round(displayedShare(shareOf(state)) * 100);

function severityOf(share: number): 'critical' | 'warning' | 'normal' {
  if (share > 0.95) return 'critical';
  return share > 0.75 ? 'warning' : 'normal';
}
