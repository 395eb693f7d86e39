import { Injectable, Logger } from '@nestjs/common';
import { type BudgetScope, type LimitRef, Limits, type LimitState } from '../../billing';
import { type BudgetPeriod, HOUR_MS, monotonicMs, withDeadline } from '../../kernel';
import type { BudgetPressure } from '../engine/appraise';
import { noPacing, pace, type Pacing, projectedSpend } from '../engine/pacing';

/** It is one budget, as this node last saw it. */
interface Watched {
  readonly ref: BudgetScope;
  state: LimitState | null;
  pacing: Pacing | null;
  /** It is -Infinity until the first look. */
  lookedAt: number;
  reading: Promise<void> | null;
}

const READ_AGAIN_MS = 10_000;
/** A choice waits no longer for it; without it, no budget presses. */
const READ_DEADLINE_MS = 300;
const MOST_WATCHED = 20_000;
/** They are in hours; a total has no end that spending could be projected to. */
const lengths: Readonly<Record<Exclude<BudgetPeriod, 'monthly' | 'total'>, number>> = {
  daily: 24,
  weekly: 168,
  rolling: 720,
};
/** The facts for an explanation. */
const MOST_PROJECTED = 100;

/**
 * The caller's budgets press towards cheaper models, more strongly as they run out. Each node computes this
 * from the spending on all nodes.
 */
@Injectable()
export class AutoBudgets {
  private readonly watched = new Map<string, Watched>();
  private readonly logger = new Logger(AutoBudgets.name);

  constructor(private readonly limits: Limits) {}

  /** It is that of the budget that presses most; undefined where none is in force. */
  async pressureOn(refs: readonly LimitRef[]): Promise<BudgetPressure | undefined> {
    const each = refs.filter(isBudget).map((ref) => this.watch(ref));
    const since = monotonicMs() - READ_AGAIN_MS;
    const old = each.filter(({ lookedAt, reading }) => lookedAt < since && reading === null);
    if (old.length > 0) this.read(old);
    const first = each.flatMap(({ lookedAt, reading }) =>
      lookedAt === -Infinity && reading ? [reading] : [],
    );
    if (first.length > 0) await withDeadline(READ_DEADLINE_MS, Promise.all(first)).catch(() => undefined);
    return each.map(pressureOf).reduce(heavier, undefined);
  }

  private watch(ref: BudgetScope): Watched {
    const name = `${ref.kind} ${ref.id}`;
    const known = this.watched.get(name) ?? unseen(ref);
    this.watched.delete(name);
    this.watched.set(name, known);
    if (this.watched.size > MOST_WATCHED) {
      const oldest = this.watched.keys().next();
      if (!oldest.done) this.watched.delete(oldest.value);
    }
    return known;
  }

  /** One statement for all; a budget that cannot be read stays as it was. */
  private read(each: readonly Watched[]): void {
    const reading = this.limits
      .states(each.map(({ ref }) => ref))
      .then((states) => each.forEach((one, place) => note(one, states[place] ?? null)))
      .catch((error: unknown) => this.logger.warn(`Budgets that pace auto cannot be read: ${String(error)}`))
      .finally(() => {
        for (const one of each) Object.assign(one, { reading: null, lookedAt: monotonicMs() });
      });
    for (const one of each) one.reading = reading;
  }
}

const unseen = (ref: BudgetScope): Watched => ({
  ref,
  state: null,
  pacing: null,
  lookedAt: -Infinity,
  reading: null,
});

function note(one: Watched, state: LimitState | null): void {
  const now = Date.now();
  const projected = state === null ? null : projectedOf(state, now);
  one.state = state;
  one.pacing =
    state === null || projected === null
      ? null
      : pace(one.pacing ?? noPacing(now), { projected, budget: budgetOf(state), now });
}

const isBudget = (ref: LimitRef): ref is BudgetScope => ref.kind !== 'wallet' && ref.kind !== 'key_model';
const budgetOf = ({ limit, raised }: LimitState): number => Number(limit + raised);

/** It is in nano-USD; null where the period has no end. */
function projectedOf(
  { period, spent, resetsAt: allFree, freesNext }: LimitState,
  now: number,
): number | null {
  if (period === 'total') return null;
  // A rolling period is taken as the one that ends when its oldest spending leaves.
  const resetsAt = freesNext?.at ?? allFree;
  if (resetsAt === null) return Number(spent);
  const endsAt = resetsAt.getTime();
  return projectedSpend(Number(spent), { startedAt: startOf(period, resetsAt), endsAt, now });
}

function startOf(period: Exclude<BudgetPeriod, 'total'>, resetsAt: Date): number {
  if (period === 'monthly') return Date.UTC(resetsAt.getUTCFullYear(), resetsAt.getUTCMonth() - 1);
  return resetsAt.getTime() - lengths[period] * HOUR_MS;
}

function pressureOf({ ref, state, pacing }: Watched): BudgetPressure | undefined {
  if (state === null || pacing === null) return undefined;
  const budget = budgetOf(state);
  const projected = projectedOf(state, pacing.at) ?? 0;
  const share = budget > 0 ? Math.min(MOST_PROJECTED, projected / budget) : MOST_PROJECTED;
  return { budget: ref.kind, period: state.period, projected: share, raise: pacing.raise };
}

const heavier = (
  one: BudgetPressure | undefined,
  other: BudgetPressure | undefined,
): BudgetPressure | undefined => {
  if (one === undefined || other === undefined) return one ?? other;
  if (one.raise !== other.raise) return one.raise > other.raise ? one : other;
  return one.projected >= other.projected ? one : other;
};
