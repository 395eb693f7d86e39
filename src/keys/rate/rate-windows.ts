import { setTimeout as delay } from 'node:timers/promises';
import { MINUTE_MS, monotonicMs, uuidv7, withDeadline } from '../../kernel';
import { LocalSlots } from './local-slots';
import { LocalWindows } from './local-windows';
import type { RateWindow, Reading } from './reading';
import type { RedisWindows, SharedReading } from './redis-windows';
import { LocalTokens, type TokenReading, type TokenWindow } from './token-log';

/** For tokens and places a share is not used: they last longer, and a share could admit too much. */
const PATIENCE = 5;
const PRESENCE_MS = 1_000;
/** One late answer is ignored; this many in a row count as an outage of Redis. */
const AWAY_AFTER = 3;
/** After an outage Redis lacks the calls admitted meanwhile, so each node keeps to its share for one more window. */
const CAUTIOUS_MS = MINUTE_MS;
/** Nodes that register again after Redis lost its data were there all along. */
const NODE_GONE_MS = 10_000;
/** It is often enough that a lease of thirty seconds outlives two lost renewals. */
const RENEW_SLOTS_MS = 9_000;

/** A call among those that are open at once. */
export interface SlotReading {
  readonly allowed: boolean;
  readonly limit: number;
  readonly used: number;
  /** Given back under this id, where it was taken. */
  readonly id: string;
}

export interface RateLog {
  warn(message: string): void;
  info(message: string): void;
}

/**
 * Rate windows across nodes. Without Redis there is one node, and it counts locally. With Redis the windows are
 * shared; when it does not answer in time, each node admits only its share of the limit.
 */
export class RateWindows {
  private readonly node = uuidv7();
  private readonly local = new LocalWindows();
  private readonly tokens = new LocalTokens();
  private readonly slots = new LocalSlots();
  private slotsRenewedAt = monotonicMs();
  private readonly stopping = new AbortController();
  private nodes = 1;
  private fewerSince: number | null = null;
  private failures: number;
  private cautiousUntil = -Infinity;
  private since: string | null = null;
  private taken = 0;
  private keeping?: Promise<void>;
  /** Of the latest answer to a look every second; null before the first. */
  private roundTripMs: number | null = null;

  constructor(
    private readonly redis: RedisWindows | null,
    private readonly log: RateLog,
    private readonly answerMs: number,
  ) {
    // Counts as away until its first answer.
    this.failures = redis === null ? 0 : AWAY_AFTER;
  }

  async start(): Promise<void> {
    if (this.redis === null) return;
    await this.present(this.redis, true);
    this.keeping = this.keepPresent(this.redis);
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    this.redis?.close();
    await this.keeping;
  }

  /** The windows are counted over all nodes at the moment. */
  get exact(): boolean {
    return this.failures < AWAY_AFTER;
  }

  /** It is null without Redis. */
  get shared(): { readonly isUp: boolean; readonly roundTripMs: number | null } | null {
    return this.redis === null ? null : { isUp: this.exact, roundTripMs: this.roundTripMs };
  }

  take(window: RateWindow): Reading | Promise<Reading> {
    const now = monotonicMs();
    if (this.redis === null) return this.local.take(window, now);
    if (!this.exact) return this.takeShare(window, now);
    if (now < this.cautiousUntil) {
      const share = this.local.look(this.shareOf(window), now);
      if (!share.allowed) return asWhole(share, window);
    }
    return this.ask(this.redis.take(window)).then(
      (reading) => this.verified(window, reading),
      () => this.takeShare(window, monotonicMs()),
    );
  }

  look(window: RateWindow): Reading | Promise<Reading> {
    const own = (): Reading => this.local.look(window, monotonicMs());
    return this.redis === null || !this.exact ? own() : this.ask(this.redis.look(window)).catch(own);
  }

  /** It is like `take`, for so many tokens at once. */
  takeTokens(window: TokenWindow, tokens: number): TokenReading | Promise<TokenReading> {
    const id = this.nextId();
    const now = monotonicMs();
    const { redis } = this;
    if (redis === null) return this.tokens.take(window, id, tokens, now);
    const takeShare = (at: number): TokenReading => {
      const share = this.tokens.take(this.shareOf(window), id, tokens, at);
      return { ...asWhole(share, window), id };
    };
    if (!this.exact) return takeShare(now);
    return this.ask(redis.takeTokens(window, tokens, id), PATIENCE).then(
      (reading): TokenReading => {
        const at = monotonicMs();
        this.noteSince(reading.since, at);
        if (at < this.cautiousUntil) {
          const share = this.tokens.take(this.shareOf(window), id, tokens, at);
          if (share.allowed && reading.allowed) return { ...reading, id };
          if (reading.allowed) void redis.correctTokens(window, id, 0).catch(() => undefined);
          return { ...asWhole(share, window), allowed: false, id };
        }
        if (reading.allowed) this.tokens.note(window, id, tokens, at);
        return { ...reading, id };
      },
      () => takeShare(monotonicMs()),
    );
  }

  /** Corrects the number taken under an id; without effect once it has left the window. */
  correctTokens(window: TokenWindow, id: string, tokens: number): void {
    this.tokens.correct(window, id, tokens);
    if (this.redis !== null && this.exact)
      void this.redis.correctTokens(window, id, tokens).catch(() => undefined);
  }

  lookTokens(window: TokenWindow): Reading | Promise<Reading> {
    const own = (): Reading => this.tokens.look(window, monotonicMs());
    return this.redis === null || !this.exact ? own() : this.ask(this.redis.takeTokens(window, 1)).catch(own);
  }

  /** Takes one of so many places, until it is left. A node's places outlive it by half a minute at most. */
  enter(key: string, limit: number): SlotReading | Promise<SlotReading> {
    const id = this.nextId();
    const { redis } = this;
    if (redis === null || !this.exact) return this.enterHere(key, limit, id);
    return this.ask(redis.enter(key, limit, id), PATIENCE).then(
      ({ allowed, used, since }): SlotReading => {
        const now = monotonicMs();
        this.noteSince(since, now);
        const isBeyondShare = now < this.cautiousUntil && this.slots.count(key) >= this.placesHere(limit);
        if (allowed && isBeyondShare) void redis.leave(key, id).catch(() => undefined);
        if (!allowed || isBeyondShare) return { allowed: false, limit, used, id };
        this.slots.add(key, id);
        return { allowed, limit, used, id };
      },
      () => {
        // It may have been taken although the answer was lost.
        void redis.leave(key, id).catch(() => undefined);
        return this.enterHere(key, limit, id);
      },
    );
  }

  leave(key: string, id: string): void {
    this.slots.remove(key, id);
    if (this.redis !== null) void this.redis.leave(key, id).catch(() => undefined);
  }

  /** So many are open. */
  async open(key: string, limit: number): Promise<number> {
    const own = this.slots.count(key);
    if (this.redis === null || !this.exact) return own;
    return this.ask(this.redis.enter(key, limit)).then(
      ({ used }) => used,
      () => own,
    );
  }

  private enterHere(key: string, limit: number, id: string): SlotReading {
    const used = this.slots.count(key);
    const allowed = used < (this.redis === null ? limit : this.placesHere(limit));
    if (allowed) this.slots.add(key, id);
    return { allowed, limit, used: allowed ? used + 1 : used, id };
  }

  private placesHere(limit: number): number {
    return Math.max(1, Math.floor(limit / this.nodes));
  }

  private nextId(): string {
    this.taken += 1;
    return `${this.node}:${this.taken}`;
  }

  private async renewSlots(redis: RedisWindows): Promise<void> {
    const now = monotonicMs();
    if (now - this.slotsRenewedAt < RENEW_SLOTS_MS) return;
    this.slotsRenewedAt = now;
    for (const [key, ids] of this.slots.all()) {
      await redis.renew(key, ids);
      // A call that was released during the outage must not return.
      const gone = ids.filter((id) => !this.slots.has(key, id));
      for (const id of gone) await redis.leave(key, id);
    }
  }

  private noteSince(since: string, now: number): void {
    if (this.since !== null && this.since !== since) {
      this.cautiousUntil = now + CAUTIOUS_MS;
      this.slotsRenewedAt = -Infinity;
      this.log.warn('Redis has lost its counts; for a minute every node keeps to its share of the rates.');
    }
    this.since = since;
  }

  /** The reading is from Redis, unless that has lost its counts by a flush or a restart without its data. */
  private verified(window: RateWindow, reading: SharedReading): Reading {
    const now = monotonicMs();
    this.noteSince(reading.since, now);
    if (now < this.cautiousUntil) {
      const share = this.local.look(this.shareOf(window), now);
      if (!share.allowed) return asWhole(share, window);
    }
    if (reading.allowed) this.local.note(window, now);
    return reading;
  }

  private takeShare(window: RateWindow, now: number): Reading {
    return asWhole(this.local.take(this.shareOf(window), now), window);
  }

  /** It is at least one: a node that admits nothing is useless. */
  private shareOf(window: RateWindow): RateWindow {
    return { ...window, limit: Math.max(1, Math.floor(window.limit / this.nodes)) };
  }

  private async ask<T>(answer: Promise<T>, patience = 1): Promise<T> {
    try {
      const value = await withDeadline(patience * this.answerMs, answer);
      if (this.exact) this.failures = 0;
      return value;
    } catch (error) {
      this.failures += 1;
      if (this.failures === AWAY_AFTER)
        this.log.warn(`Redis does not answer; every node keeps to its share of the rates: ${String(error)}`);
      throw error;
    }
  }

  private async keepPresent(redis: RedisWindows): Promise<void> {
    const { signal } = this.stopping;
    while (await delay(PRESENCE_MS, true, { signal, ref: false }).catch(() => false))
      await this.present(redis, false);
  }

  private updateNodeCount(count: number): void {
    const now = monotonicMs();
    this.fewerSince = count < this.nodes ? (this.fewerSince ?? now) : null;
    if (this.fewerSince === null || now - this.fewerSince >= NODE_GONE_MS) this.nodes = Math.max(1, count);
  }

  /** Only this probe ends an outage, so that callers do not wait for one. */
  private async present(redis: RedisWindows, first: boolean): Promise<void> {
    const askedAt = monotonicMs();
    try {
      this.updateNodeCount(await withDeadline(first ? PRESENCE_MS : this.answerMs, redis.present(this.node)));
      this.roundTripMs = monotonicMs() - askedAt;
      await withDeadline(PRESENCE_MS, this.renewSlots(redis));
      if (this.exact) return;
      this.failures = 0;
      if (first) return;
      this.cautiousUntil = monotonicMs() + CAUTIOUS_MS;
      this.log.info('Redis answers again; rates are counted over all nodes.');
    } catch {
      // The next call finds out, or Redis is known to be away.
    }
  }
}

/** The remaining number is that of the share; the limit shown is the key's own. */
const asWhole = (share: Reading, { limit }: RateWindow): Reading => ({
  ...share,
  limit,
  used: Math.max(share.used, limit - Math.max(0, share.limit - share.used)),
});
