import { Injectable } from '@nestjs/common';
import { CredentialStore, type LaneView, type ProviderView } from '../../catalogue';
import { MINUTE_MS, monotonicMs } from '../../kernel';
import { Settings } from '../../platform';
import { Breaker, type BreakerState, type BreakerTerms } from './breaker';
import { LaneEvents } from './lane-events';
import type { LaneRoute, LaneTrouble } from './lane-facts';
import { LanePermit } from './lane-permit';
import { RetryBudget } from './retry-budget';
import { WatchedLane } from './watched-lane';

/** A node that has seen more lanes than this has a catalogue that changes faster than it is used. */
const MOST_LANES = 10_000;

/** A spent account is not filled within seconds, and every try of it costs a caller time. */
const ACCOUNT_REST_MS = MINUTE_MS;

/** Older measurements say nothing about how it is now. */
const MEASURED_MS = 5 * MINUTE_MS;

export interface LaneState extends LaneRoute {
  readonly state: BreakerState;
}

/** This node has lately seen this of every lane: a supplier, its model and a region. */
@Injectable()
export class LaneHealth {
  private readonly watched = new Map<string, WatchedLane>();
  /** The views of one catalogue; the next one has others, of the same lanes. */
  private readonly ofView = new WeakMap<LaneView, WatchedLane>();
  private readonly terms = new WeakMap<ProviderView, BreakerTerms>();
  private readonly budgets = new Map<string, RetryBudget>();
  /** They stand for our account at each supplier, by the credential that stands for it. */
  private readonly accounts = new Map<string, Breaker>();

  constructor(
    private readonly settings: Settings,
    private readonly events: LaneEvents,
    private readonly credentials: CredentialStore,
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

  /** The answer of a lane took so long to begin. Weighed against what is known: a fifth for the latest. */
  began(lane: LaneView, milliseconds: number, now: number): void {
    const watched = this.watch(lane);
    const { latency } = watched;
    watched.latency = latency === null ? milliseconds : latency + (milliseconds - latency) / 5;
    watched.measuredAt = now;
  }

  /** It is null when it has not been measured lately: a lane that was slow once deserves another look. */
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

  /** Operators see every lane that was used, and whether it is open. */
  states(): LaneState[] {
    const now = monotonicMs();
    return [...this.watched.values()].map((lane) => ({ ...lane.route, state: lane.stateOfAll(now) }));
  }

  /** The lanes that are open to no key and whose next probe is due. */
  restedRoutes(now: number): LaneRoute[] {
    return [...this.watched.values()]
      .filter((lane) => !lane.breaker.isClosed && lane.stateOfAll(now) === 'half-open')
      .map(({ route }) => route);
  }

  /** Operators hear of the lanes that are open to no key, and of those that were since this was last asked. */
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
    // A new credential stands for an account that has not failed.
    if (!watched.account.isClosed) watched.account = this.accountAt(lane.provider);
    return watched;
  }

  private find({ provider, upstreamModel: model, region }: LaneView): WatchedLane {
    const key = `${provider.name}\n${model}\n${region}`;
    const terms = this.termsOf(provider);
    let found = this.watched.get(key);
    if (found === undefined) {
      if (this.watched.size >= MOST_LANES) this.watched.clear();
      const route = { supplier: provider.name, model, region };
      this.watched.set(key, (found = new WatchedLane(route, terms, this.accountAt(provider))));
    } else found.follow(terms);
    return found;
  }

  private accountAt(provider: ProviderView): Breaker {
    const credential = this.credentials.resolve(provider.id);
    const key = `${provider.id} ${credential?.id ?? ''}`;
    let found = this.accounts.get(key);
    if (found === undefined) {
      if (this.accounts.size >= MOST_LANES) this.accounts.clear();
      // A pool of tokens has many accounts: one of them says little about the others.
      const terms = this.termsOf(provider);
      found = new Breaker(credential === null ? terms : accountTerms(terms, this.longestPauseMs(provider)));
      this.accounts.set(key, found);
    }
    return found;
  }

  private termsOf(provider: ProviderView): BreakerTerms {
    let terms = this.terms.get(provider);
    if (terms === undefined) this.terms.set(provider, (terms = termsFor(provider, this.settings)));
    return terms;
  }
}

const accountTerms = (usual: BreakerTerms, longestMs: number): BreakerTerms => ({
  ...usual,
  failures: 1,
  restMs: Math.min(ACCOUNT_REST_MS, longestMs),
  longestRestMs: longestMs,
});

function termsFor({ breaker }: ProviderView, settings: Settings): BreakerTerms {
  const restMs = breaker.rest ?? settings.laneRestMs;
  return {
    failures: breaker.failures ?? settings.laneFailures,
    windowMs: breaker.window ?? settings.laneFailureWindowMs,
    restMs,
    longestRestMs: Math.max(restMs, breaker.longestRest ?? settings.laneLongestRestMs),
  };
}
