import { Injectable } from '@nestjs/common';
import type { LaneView, ProviderView } from '../../catalogue';
import { monotonicMs } from '../../kernel';
import { Settings } from '../../platform';
import type { BreakerState, BreakerTerms } from './breaker';
import { LaneEvents } from './lane-events';
import type { LaneRoute, LaneTrouble } from './lane-facts';
import { LanePermit } from './lane-permit';
import { RetryBudget } from './retry-budget';
import { WatchedLane } from './watched-lane';

/** A node that has seen more lanes than this has a catalogue that changes faster than it is used. */
const MOST_LANES = 10_000;

/** Older measurements say nothing about how it is now. */
const MEASURED_MS = 5 * 60_000;

export interface LaneState extends LaneRoute {
  readonly state: BreakerState;
}

/** What this node has lately seen of every lane: a supplier, its model and a region. */
@Injectable()
export class LaneHealth {
  private readonly watched = new Map<string, WatchedLane>();
  /** The views of one catalogue; the next one has others, of the same lanes. */
  private readonly ofView = new WeakMap<LaneView, WatchedLane>();
  private readonly terms = new WeakMap<ProviderView, BreakerTerms>();
  private readonly budgets = new Map<string, RetryBudget>();

  constructor(
    private readonly settings: Settings,
    private readonly events: LaneEvents,
  ) {}

  stateOf(lane: LaneView, keyId: number, now: number): BreakerState {
    return this.watch(lane).stateFor(keyId, now);
  }

  /** The right to try a lane, or null while it rests. */
  acquire(lane: LaneView, keyId: number, now: number): LanePermit | null {
    return LanePermit.take(this.watch(lane), keyId, now, false, this.events);
  }

  /** Resting would mean refusing everybody: one caller a second finds out whether it is over. */
  acquireAsLast(lane: LaneView, keyId: number, now: number): LanePermit | null {
    return LanePermit.take(this.watch(lane), keyId, now, true, this.events);
  }

  /** Wakes the caller when the probe of this lane has ended; null when none is under way, or too many wait. */
  waitForProbe(lane: LaneView, keyId: number, now: number, wake: () => void): (() => void) | null {
    return this.watch(lane).waitForProbe(keyId, now, wake);
  }

  nextTryAt(lane: LaneView, keyId: number, now: number): number {
    return this.watch(lane).nextTryAt(keyId, now);
  }

  /** Well, but asked to be left alone. */
  isPaused(lane: LaneView, now: number): boolean {
    return this.watch(lane).breaker.isPaused(now);
  }

  /** The longest a supplier may ask to be left alone: nothing else could end it. */
  longestPauseMs({ breaker }: ProviderView): number {
    return breaker.longestRetryAfter ?? this.settings.laneLongestRetryAfterMs;
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
    return [...this.watched.values()].map(({ route, breaker }) => ({ ...route, state: breaker.state(now) }));
  }

  /** For operators: the lanes that are open to no key, and those that were since this was last asked. */
  takeTroubles(): LaneTrouble[] {
    const now = monotonicMs();
    const open = [...this.watched.values()].flatMap(({ route, breaker }) =>
      breaker.isClosed ? [] : (this.events.troubleOf(route, now) ?? []),
    );
    return [...this.events.takeClosed(), ...open];
  }

  private watch(lane: LaneView): WatchedLane {
    let watched = this.ofView.get(lane);
    if (watched === undefined) this.ofView.set(lane, (watched = this.find(lane)));
    return watched;
  }

  private find({ provider, upstreamModel: model, region }: LaneView): WatchedLane {
    const key = `${provider.name}\n${model}\n${region}`;
    const terms = this.termsOf(provider);
    let found = this.watched.get(key);
    if (found === undefined) {
      if (this.watched.size >= MOST_LANES) this.watched.clear();
      this.watched.set(key, (found = new WatchedLane({ supplier: provider.name, model, region }, terms)));
    } else found.follow(terms);
    return found;
  }

  private termsOf(provider: ProviderView): BreakerTerms {
    let terms = this.terms.get(provider);
    if (terms === undefined) this.terms.set(provider, (terms = termsFor(provider, this.settings)));
    return terms;
  }
}

function termsFor({ breaker }: ProviderView, settings: Settings): BreakerTerms {
  const restMs = breaker.rest ?? settings.laneRestMs;
  return {
    failures: breaker.failures ?? settings.laneFailures,
    windowMs: breaker.window ?? settings.laneFailureWindowMs,
    restMs,
    longestRestMs: Math.max(restMs, breaker.longestRest ?? settings.laneLongestRestMs),
  };
}
