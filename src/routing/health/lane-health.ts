import { Injectable } from '@nestjs/common';
import type { LaneView } from '../../catalogue';
import { monotonicMs } from '../../kernel';
import { Breaker, type BreakerState } from './breaker';
import { RetryBudget } from './retry-budget';

/** A node that has seen more lanes than this has a catalogue that changes faster than it is used. */
const MOST_LANES = 10_000;

/** Older measurements say nothing about how it is now. */
const MEASURED_MS = 5 * 60_000;

export interface LaneState {
  readonly supplier: string;
  readonly model: string;
  readonly region: string;
  readonly state: BreakerState;
}

interface Watched {
  readonly lane: Pick<LaneView, 'upstreamModel' | 'region'> & { readonly supplier: string };
  readonly breaker: Breaker;
  latency: number | null;
  measuredAt: number;
}

/** What this node has lately seen of every lane: one breaker a supplier, model and region. */
@Injectable()
export class LaneHealth {
  private readonly watched = new Map<string, Watched>();
  /** The views of one catalogue; the next one has others, of the same lanes. */
  private readonly ofView = new WeakMap<LaneView, Watched>();
  private readonly budgets = new Map<string, RetryBudget>();

  breakerOf(lane: LaneView): Breaker {
    return this.watch(lane).breaker;
  }

  private watch(lane: LaneView): Watched {
    let watched = this.ofView.get(lane);
    if (watched === undefined) this.ofView.set(lane, (watched = this.find(lane)));
    return watched;
  }

  private find(lane: LaneView): Watched {
    const key = `${lane.provider.name}\n${lane.upstreamModel}\n${lane.region}`;
    let found = this.watched.get(key);
    if (found === undefined) {
      if (this.watched.size >= MOST_LANES) this.watched.clear();
      const { upstreamModel, region, provider } = lane;
      found = {
        lane: { upstreamModel, region, supplier: provider.name },
        breaker: new Breaker(),
        latency: null,
        measuredAt: -Infinity,
      };
      this.watched.set(key, found);
    }
    return found;
  }

  /** How long the answer of a lane took to begin. Weighed against what is known: a fifth for the latest. */
  began(lane: LaneView, milliseconds: number, now: number): void {
    const watched = this.watch(lane);
    const { latency } = watched;
    watched.latency = latency === null ? milliseconds : latency + (milliseconds - latency) / 5;
    watched.measuredAt = now;
  }

  /** Null when it has not been measured lately: a lane that was slow once deserves another look. */
  latencyOf(lane: LaneView, now: number): number | null {
    const { latency, measuredAt } = this.watch(lane);
    return now - measuredAt < MEASURED_MS ? latency : null;
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
