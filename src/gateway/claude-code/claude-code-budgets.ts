import { Injectable } from '@nestjs/common';
import { type BudgetScope, Limits, type LimitState, shareOf } from '../../billing';
import { nanoPerCent } from '../../kernel';
import type { Caller } from '../../keys';
import { type BudgetShare, type HttpRequest, isClaudeCode, shownShare } from '../../web';
import { callerOf } from '../intake';

/** Answers do not wait longer for what is shown beside them. */
const READ_MS = 250;

const periodNames: Readonly<Partial<Record<LimitState['period'], string>>> = {
  daily: 'daily',
  monthly: 'monthly',
  rolling: 'monthly',
};

/** The budgets of a caller as Claude Code shows them to its user. */
@Injectable()
export class ClaudeCodeBudgets {
  constructor(private readonly limits: Limits) {}

  /** Notes the most used budget on a request of Claude Code, for the head of its answer; null for other clients. */
  note(request: HttpRequest): Promise<void> | null {
    if (!isClaudeCode(request)) return null;
    const read = this.of(callerOf(request)).then(
      ([first]) => void (first !== undefined && (request.mostUsedBudget = budgetShareOf(first))),
      // The answer matters more than what is left of the budget.
      () => undefined,
    );
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, READ_MS);
    return Promise.race([read, late]).finally(() => clearTimeout(timer));
  }

  /** Answers `/usage` of Claude Code, in cents; null without a budget. */
  async usageOf(caller: Caller) {
    const budgets = await this.of(caller);
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
      limits: budgets.map((each, place) => ({
        kind: 'spend',
        group: periodNames[each.period] ?? null,
        percent: percentOf(each),
        resets_at: each.resetsAt?.toISOString() ?? null,
        severity: severityOf(shareOf(each)),
        is_active: place === 0,
      })),
    };
  }

  /** The most used first. */
  private async of({ limits }: Caller): Promise<LimitState[]> {
    const budgets = limits.filter((ref): ref is BudgetScope => ref.kind !== 'wallet');
    const states = await this.limits.states(budgets);
    return states.filter((state) => state !== null).sort((one, other) => shareOf(other) - shareOf(one));
  }
}

const budgetShareOf = (state: LimitState): BudgetShare => ({
  share: shareOf(state),
  resetsAt: state.resetsAt,
});

const percentOf = (state: LimitState): number => Math.round(shownShare(shareOf(state)) * 100);

function severityOf(share: number): 'critical' | 'warning' | 'normal' {
  if (share > 0.95) return 'critical';
  return share > 0.75 ? 'warning' : 'normal';
}
