import { Injectable } from '@nestjs/common';
import type { LaneView } from '../../catalogue';
import { monotonicMs } from '../../kernel';
import { Breaker, type BreakerState } from './breaker';
import { RetryBudget } from './retry-budget';

/** A node that has seen more lanes than this has a catalogue that changes faster than it is used. */
const MOST_LANES = 10_000;

export interface LaneState {
  readonly supplier: string;
  readonly model: string;
  readonly region: string;
  readonly state: BreakerState;
}

interface Watched {
  readonly lane: Pick<LaneView, 'upstreamModel' | 'region'> & { readonly supplier: string };
  readonly breaker: Breaker;
}

/** What this node has lately seen of every lane: one breaker a supplier, model and region. */
@Injectable()
export class LaneHealth {
  private readonly watched = new Map<string, Watched>();
  /** The views of one catalogue; the next one has others, of the same lanes. */
  private readonly ofView = new WeakMap<LaneView, Breaker>();
  private readonly budgets = new Map<string, RetryBudget>();

  breakerOf(lane: LaneView): Breaker {
    let breaker = this.ofView.get(lane);
    if (breaker === undefined) this.ofView.set(lane, (breaker = this.find(lane)));
    return breaker;
  }

  private find(lane: LaneView): Breaker {
    const key = `${lane.provider.name}\n${lane.upstreamModel}\n${lane.region}`;
    let found = this.watched.get(key);
    if (found === undefined) {
      if (this.watched.size >= MOST_LANES) this.watched.clear();
      const { upstreamModel, region, provider } = lane;
      found = { lane: { upstreamModel, region, supplier: provider.name }, breaker: new Breaker() };
      this.watched.set(key, found);
    }
    return found.breaker;
  }

  budgetOf(supplier: string): RetryBudget {
    let budget = this.budgets.get(supplier);
    if (budget === undefined) {
      budget = new RetryBudget();
      this.budgets.set(supplier, budget);
    }
    return budget;
  }

  /** For operators: every lane that was used, and whether it is open. */
  states(): LaneState[] {
    const now = monotonicMs();
    return [...this.watched.values()].map(({ lane, breaker }) => ({
      supplier: lane.supplier,
      model: lane.upstreamModel,
      region: lane.region,
      state: breaker.state(now),
    }));
  }
}
