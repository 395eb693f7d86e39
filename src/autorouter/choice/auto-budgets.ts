import { Injectable, Logger } from '@nestjs/common';
import { type BudgetScope, type LimitRef, Limits, type LimitState } from '../../billing';
import { type BudgetPeriod, HOUR_MS, monotonicMs, withDeadline } from '../../kernel';
import type { BudgetPressure } from '../engine/appraise';
import { noPacing, pace, type Pacing, projectedSpend } from '../engine/pacing';

interface WatchedBudget {
  readonly ref: BudgetScope;
  state: LimitState | null;
  pacing: Pacing | null;
  /** -Infinity before the first read. */
  lookedAt: number;
  reading: Promise<void> | null;
}

const REFRESH_INTERVAL_MS = 10_000;
/** Maximum time that a choice waits for a budget's first read; without it, the budget exerts no pressure. */
const READ_DEADLINE_MS = 300;
const MAX_WATCHED_BUDGETS = 20_000;
/** Period lengths in hours. A total budget has no end to project spending to. */
const periodHours: Readonly<Record<Exclude<BudgetPeriod, 'monthly' | 'total'>, number>> = {
  daily: 24,
  weekly: 168,
  rolling: 720,
};
const MAX_PROJECTED_SHARE = 100;

/**
 * Computes how strongly the caller's budgets press towards cheaper models as they run out. Each node computes this from
 * the spending on all nodes.
 */
@Injectable()
export class AutoBudgets {
  private readonly watched = new Map<string, WatchedBudget>();
  private readonly logger = new Logger(AutoBudgets.name);

  constructor(private readonly limits: Limits) {}

  /** Returns the strongest pressure; undefined if no budget is in force. */
  async pressureOn(refs: readonly LimitRef[]): Promise<BudgetPressure | undefined> {
    const budgets = refs.filter(isBudget).map((ref) => this.watch(ref));
    const since = monotonicMs() - REFRESH_INTERVAL_MS;
    const stale = budgets.filter(({ lookedAt, reading }) => lookedAt < since && reading === null);
    if (stale.length > 0) this.refresh(stale);
    const firstReads = budgets.flatMap(({ lookedAt, reading }) =>
      lookedAt === -Infinity && reading ? [reading] : [],
    );
    if (firstReads.length > 0)
      await withDeadline(READ_DEADLINE_MS, Promise.all(firstReads)).catch(() => undefined);
    return budgets.map(pressureOf).reduce(strongerPressure, undefined);
  }

  private watch(ref: BudgetScope): WatchedBudget {
    const name = `${ref.kind} ${ref.id}`;
    const budget = this.watched.get(name) ?? unreadBudget(ref);
    this.watched.delete(name);
    this.watched.set(name, budget);
    if (this.watched.size > MAX_WATCHED_BUDGETS) {
      const oldest = this.watched.keys().next();
      if (!oldest.done) this.watched.delete(oldest.value);
    }
    return budget;
  }

  /** Reads all in one statement; a budget that cannot be read keeps its last state. */
  private refresh(budgets: readonly WatchedBudget[]): void {
    const reading = this.limits
      .states(budgets.map(({ ref }) => ref))
      .then((states) => budgets.forEach((budget, index) => updatePacing(budget, states[index] ?? null)))
      .catch((error: unknown) => this.logger.warn(`Budgets that pace auto cannot be read: ${String(error)}`))
      .finally(() => {
        for (const budget of budgets) Object.assign(budget, { reading: null, lookedAt: monotonicMs() });
      });
    for (const budget of budgets) budget.reading = reading;
  }
}

const unreadBudget = (ref: BudgetScope): WatchedBudget => ({
  ref,
  state: null,
  pacing: null,
  lookedAt: -Infinity,
  reading: null,
});

function updatePacing(watched: WatchedBudget, state: LimitState | null): void {
  const now = Date.now();
  const projected = state === null ? null : projectedOf(state, now);
  watched.state = state;
  watched.pacing =
    state === null || projected === null
      ? null
      : pace(watched.pacing ?? noPacing(now), { projected, budget: budgetOf(state), now });
}

const isBudget = (ref: LimitRef): ref is BudgetScope => ref.kind !== 'wallet' && ref.kind !== 'key_model';
const budgetOf = ({ limit, raised }: LimitState): number => Number(limit + raised);

/** Projected spending in nano-USD; null if the period has no end. */
function projectedOf(
  { period, spent, resetsAt: allFree, freesNext }: LimitState,
  now: number,
): number | null {
  if (period === 'total') return null;
  // A rolling period is treated as ending when its oldest spending expires.
  const resetsAt = freesNext?.at ?? allFree;
  if (resetsAt === null) return Number(spent);
  const endsAt = resetsAt.getTime();
  return projectedSpend(Number(spent), { startedAt: startOf(period, resetsAt), endsAt, now });
}

function startOf(period: Exclude<BudgetPeriod, 'total'>, resetsAt: Date): number {
  if (period === 'monthly') return Date.UTC(resetsAt.getUTCFullYear(), resetsAt.getUTCMonth() - 1);
  return resetsAt.getTime() - periodHours[period] * HOUR_MS;
}

function pressureOf({ ref, state, pacing }: WatchedBudget): BudgetPressure | undefined {
  if (state === null || pacing === null) return undefined;
  const budget = budgetOf(state);
  const projected = projectedOf(state, pacing.at) ?? 0;
  const share = budget > 0 ? Math.min(MAX_PROJECTED_SHARE, projected / budget) : MAX_PROJECTED_SHARE;
  return { budget: ref.kind, period: state.period, projected: share, raise: pacing.raise };
}

const strongerPressure = (
  one: BudgetPressure | undefined,
  other: BudgetPressure | undefined,
): BudgetPressure | undefined => {
  if (one === undefined || other === undefined) return one ?? other;
  if (one.raise !== other.raise) return one.raise > other.raise ? one : other;
  return one.projected >= other.projected ? one : other;
};
