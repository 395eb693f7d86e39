import { Injectable } from '@nestjs/common';
import { CredentialStore, type LaneView, type ProviderView } from '../../catalogue';
import { MINUTE_MS, monotonicMs } from '../../kernel';
import { Settings } from '../../platform';
import { Breaker, type BreakerState, type BreakerOptions } from './breaker';
import { LaneEvents } from './lane-events';
import type { LaneRoute, LaneOutage } from './lane-types';
import { LanePermit } from './lane-permit';
import { RetryBudget } from './retry-budget';
import { WatchedLane } from './watched-lane';

/** Maximum number of remembered lanes; more would mean a catalogue that changes faster than it is used. */
const MAX_LANES = 10_000;

/** A spent account is not refilled within seconds, and every attempt costs a caller time. */
const ACCOUNT_OPEN_MS = MINUTE_MS;

const MAX_MEASUREMENT_AGE_MS = 5 * MINUTE_MS;

export interface LaneState extends LaneRoute {
  readonly state: BreakerState;
}

@Injectable()
export class LaneHealth {
  private readonly lanes = new Map<string, WatchedLane>();
  /** Lanes by the views of one catalogue; the next catalogue has other views of the same lanes. */
  private readonly lanesByView = new WeakMap<LaneView, WatchedLane>();
  private readonly breakerOptions = new WeakMap<ProviderView, BreakerOptions>();
  private readonly budgets = new Map<string, RetryBudget>();
  /** Breakers of the operator's accounts at suppliers, by credential. */
  private readonly accounts = new Map<string, Breaker>();

  constructor(
    private readonly settings: Settings,
    private readonly events: LaneEvents,
    private readonly credentials: CredentialStore,
  ) {}

  stateOf(lane: LaneView, keyId: number, now: number): BreakerState {
    return this.laneOf(lane).stateFor(keyId, now);
  }

  acquire(lane: LaneView, keyId: number, now: number): LanePermit | null {
    return LanePermit.take(this.laneOf(lane), keyId, now, false, this.events);
  }

  /** Allows one caller per second on an open lane, so that not every caller is refused. */
  acquireAsLast(lane: LaneView, keyId: number, now: number): LanePermit | null {
    return LanePermit.take(this.laneOf(lane), keyId, now, true, this.events);
  }

  /** Calls `wake` when the current probe of the lane has ended; null if there is none or too many callers wait. */
  waitForProbe(lane: LaneView, keyId: number, now: number, wake: () => void): (() => void) | null {
    return this.laneOf(lane).waitForProbe(keyId, now, wake);
  }

  nextTryAt(lane: LaneView, keyId: number, now: number): number {
    return this.laneOf(lane).nextTryAt(keyId, now);
  }

  isPaused(lane: LaneView, now: number): boolean {
    return this.laneOf(lane).breaker.isPaused(now);
  }

  /** The longest pause that a supplier can request; nothing else would end it. */
  maxPauseMs({ breaker }: ProviderView): number {
    return breaker.longestRetryAfter ?? this.settings.laneLongestRetryAfterMs;
  }

  /** Records the time until a response started. The moving average gives the latest one fifth of the weight. */
  recordLatency(lane: LaneView, milliseconds: number, now: number): void {
    const watched = this.laneOf(lane);
    const { latency } = watched;
    watched.latency = latency === null ? milliseconds : latency + (milliseconds - latency) / 5;
    watched.measuredAt = now;
  }

  /** Null without a recent measurement: a lane that was slow once gets another chance. */
  latencyOf(lane: LaneView, now: number): number | null {
    const { latency, measuredAt } = this.laneOf(lane);
    return now - measuredAt < MAX_MEASUREMENT_AGE_MS ? latency : null;
  }

  budgetOf(supplier: string): RetryBudget {
    let budget = this.budgets.get(supplier);
    if (budget === undefined) {
      budget = new RetryBudget();
      this.budgets.set(supplier, budget);
    }
    return budget;
  }

  states(): LaneState[] {
    const now = monotonicMs();
    return [...this.lanes.values()].map((lane) => ({ ...lane.route, state: lane.sharedState(now) }));
  }

  /** Lanes whose shared breaker is not closed and whose next probe is due. */
  routesDueForProbe(now: number): LaneRoute[] {
    return [...this.lanes.values()]
      .filter((lane) => !lane.breaker.isClosed && lane.sharedState(now) === 'half-open')
      .map(({ route }) => route);
  }

  /** Current outages of lanes whose shared breaker is not closed, and those that ended since the previous call. */
  takeOutages(): LaneOutage[] {
    const now = monotonicMs();
    const open = [...this.lanes.values()].flatMap(({ route, breaker }) =>
      breaker.isClosed ? [] : (this.events.outageOf(route, now) ?? []),
    );
    return [...this.events.takeClosed(), ...open];
  }

  private laneOf(lane: LaneView): WatchedLane {
    let watched = this.lanesByView.get(lane);
    if (watched === undefined) this.lanesByView.set(lane, (watched = this.findLane(lane)));
    // A new credential identifies an account without failures.
    if (!watched.account.isClosed) watched.account = this.accountAt(lane.provider);
    return watched;
  }

  private findLane({ provider, upstreamModel: model, region }: LaneView): WatchedLane {
    const key = `${provider.name}\n${model}\n${region}`;
    const options = this.optionsOf(provider);
    let tracked = this.lanes.get(key);
    if (tracked === undefined) {
      if (this.lanes.size >= MAX_LANES) this.lanes.clear();
      const route = { supplier: provider.name, model, region };
      this.lanes.set(key, (tracked = new WatchedLane(route, options, this.accountAt(provider))));
    } else tracked.reconfigure(options);
    return tracked;
  }

  private accountAt(provider: ProviderView): Breaker {
    const credential = this.credentials.resolve(provider.id);
    const key = `${provider.id} ${credential?.id ?? ''}`;
    let account = this.accounts.get(key);
    if (account === undefined) {
      if (this.accounts.size >= MAX_LANES) this.accounts.clear();
      // A pool of tokens has many accounts, so one of them says little about the others.
      const options = this.optionsOf(provider);
      account = new Breaker(
        credential === null ? options : accountOptions(options, this.maxPauseMs(provider)),
      );
      this.accounts.set(key, account);
    }
    return account;
  }

  private optionsOf(provider: ProviderView): BreakerOptions {
    let options = this.breakerOptions.get(provider);
    if (options === undefined)
      this.breakerOptions.set(provider, (options = optionsFor(provider, this.settings)));
    return options;
  }
}

const accountOptions = (base: BreakerOptions, maxMs: number): BreakerOptions => ({
  ...base,
  failures: 1,
  openMs: Math.min(ACCOUNT_OPEN_MS, maxMs),
  maxOpenMs: maxMs,
});

function optionsFor({ breaker }: ProviderView, settings: Settings): BreakerOptions {
  const restMs = breaker.rest ?? settings.laneRestMs;
  return {
    failures: breaker.failures ?? settings.laneFailures,
    windowMs: breaker.window ?? settings.laneFailureWindowMs,
    openMs: restMs,
    maxOpenMs: Math.max(restMs, breaker.longestRest ?? settings.laneLongestRestMs),
  };
}
