import { setTimeout as delay } from 'node:timers/promises';
import { type MaybePromise, MINUTE_MS, monotonicMs, uuidv7, withDeadline } from '../../kernel';
import { LocalSlots } from './local-slots';
import { LocalWindows } from './local-windows';
import type { RateWindow, RateReading } from './rate-reading';
import type { RedisWindows, SharedReading } from './redis-windows';
import { LocalTokens, type TokenReading, type TokenWindow } from './token-log';

/** Timeout factor for tokens and slots: they last longer than requests, and using a share could admit too many. */
const TIMEOUT_FACTOR = 5;
const HEARTBEAT_MS = 1_000;
/** Number of late responses in a row that count as an outage of Redis. */
const MAX_FAILURES = 3;
/** After an outage Redis lacks the calls admitted meanwhile, so each node keeps to its share for one more window. */
const SHARE_ONLY_MS = MINUTE_MS;
/** Nodes that register again after Redis lost its data were running all along. */
const NODE_GONE_MS = 10_000;
/** Short enough that a lease of thirty seconds outlives two lost renewals. */
const RENEW_SLOTS_MS = 9_000;

export interface SlotReading {
  readonly allowed: boolean;
  readonly limit: number;
  readonly used: number;
  /** Id under which a taken slot is given back. */
  readonly id: string;
}

export interface RateLog {
  warn(message: string): void;
  info(message: string): void;
}

/**
 * Rate windows across nodes. Without Redis there is one node, and it counts locally. With Redis the windows are shared;
 * when it does not respond in time, each node admits only its share of the limit.
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
  private shareOnlyUntil = -Infinity;
  private countsSince: string | null = null;
  private idCounter = 0;
  private heartbeat?: Promise<void>;
  /** Round trip of the latest heartbeat; null before the first. */
  private roundTripMs: number | null = null;

  constructor(
    private readonly redis: RedisWindows | null,
    private readonly log: RateLog,
    private readonly timeoutMs: number,
  ) {
    // Redis counts as unavailable until its first response.
    this.failures = redis === null ? 0 : MAX_FAILURES;
  }

  async start(): Promise<void> {
    if (this.redis === null) return;
    await this.register(this.redis, true);
    this.heartbeat = this.keepRegistered(this.redis);
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    this.redis?.close();
    await this.heartbeat;
  }

  /** Whether windows are currently counted across all nodes. */
  get isExact(): boolean {
    return this.failures < MAX_FAILURES;
  }

  /** Null without Redis. */
  get shared(): { readonly isUp: boolean; readonly roundTripMs: number | null } | null {
    return this.redis === null ? null : { isUp: this.isExact, roundTripMs: this.roundTripMs };
  }

  take(window: RateWindow): MaybePromise<RateReading> {
    const now = monotonicMs();
    if (this.redis === null) return this.local.take(window, now);
    if (!this.isExact) return this.takeShare(window, now);
    if (now < this.shareOnlyUntil) {
      const share = this.local.peek(this.shareOf(window), now);
      if (!share.allowed) return toFullWindow(share, window);
    }
    return this.call(this.redis.take(window)).then(
      (reading) => this.verify(window, reading),
      () => this.takeShare(window, monotonicMs()),
    );
  }

  peek(window: RateWindow): MaybePromise<RateReading> {
    const readLocal = (): RateReading => this.local.peek(window, monotonicMs());
    return this.redis === null || !this.isExact
      ? readLocal()
      : this.call(this.redis.peek(window)).catch(readLocal);
  }

  /** Works like `take`, for several tokens. */
  takeTokens(window: TokenWindow, tokens: number): MaybePromise<TokenReading> {
    const id = this.nextId();
    const now = monotonicMs();
    const { redis } = this;
    if (redis === null) return this.tokens.take(window, id, tokens, now);
    const takeShare = (at: number): TokenReading => {
      const share = this.tokens.take(this.shareOf(window), id, tokens, at);
      return { ...toFullWindow(share, window), id };
    };
    if (!this.isExact) return takeShare(now);
    return this.call(redis.takeTokens(window, tokens, id), TIMEOUT_FACTOR).then(
      (reading): TokenReading => {
        const at = monotonicMs();
        this.detectLostCounts(reading.since, at);
        if (at < this.shareOnlyUntil) {
          const share = this.tokens.take(this.shareOf(window), id, tokens, at);
          if (share.allowed && reading.allowed) return { ...reading, id };
          if (reading.allowed) void redis.correctTokens(window, id, 0).catch(() => undefined);
          return { ...toFullWindow(share, window), allowed: false, id };
        }
        if (reading.allowed) this.tokens.record(window, id, tokens, at);
        return { ...reading, id };
      },
      () => takeShare(monotonicMs()),
    );
  }

  /** Corrects the number taken under an id; no effect once it has left the window. */
  correctTokens(window: TokenWindow, id: string, tokens: number): void {
    this.tokens.correct(window, id, tokens);
    if (this.redis !== null && this.isExact)
      void this.redis.correctTokens(window, id, tokens).catch(() => undefined);
  }

  peekTokens(window: TokenWindow): MaybePromise<RateReading> {
    const readLocal = (): RateReading => this.tokens.peek(window, monotonicMs());
    return this.redis === null || !this.isExact
      ? readLocal()
      : this.call(this.redis.takeTokens(window, 1)).catch(readLocal);
  }

  /** Takes one of the slots until `leave`. The slots of a dead node expire within half a minute. */
  enter(key: string, limit: number): MaybePromise<SlotReading> {
    const id = this.nextId();
    const { redis } = this;
    if (redis === null || !this.isExact) return this.enterLocally(key, limit, id);
    return this.call(redis.enter(key, limit, id), TIMEOUT_FACTOR).then(
      ({ allowed, used, since }): SlotReading => {
        const now = monotonicMs();
        this.detectLostCounts(since, now);
        const isBeyondShare = now < this.shareOnlyUntil && this.slots.count(key) >= this.slotsPerNode(limit);
        if (allowed && isBeyondShare) void redis.leave(key, id).catch(() => undefined);
        if (!allowed || isBeyondShare) return { allowed: false, limit, used, id };
        this.slots.add(key, id);
        return { allowed, limit, used, id };
      },
      () => {
        // The slot might have been taken although the response was lost.
        void redis.leave(key, id).catch(() => undefined);
        return this.enterLocally(key, limit, id);
      },
    );
  }

  leave(key: string, id: string): void {
    this.slots.remove(key, id);
    if (this.redis !== null) void this.redis.leave(key, id).catch(() => undefined);
  }

  async open(key: string, limit: number): Promise<number> {
    const localCount = this.slots.count(key);
    if (this.redis === null || !this.isExact) return localCount;
    return this.call(this.redis.enter(key, limit)).then(
      ({ used }) => used,
      () => localCount,
    );
  }

  private enterLocally(key: string, limit: number, id: string): SlotReading {
    const used = this.slots.count(key);
    const allowed = used < (this.redis === null ? limit : this.slotsPerNode(limit));
    if (allowed) this.slots.add(key, id);
    return { allowed, limit, used: allowed ? used + 1 : used, id };
  }

  private slotsPerNode(limit: number): number {
    return Math.max(1, Math.floor(limit / this.nodes));
  }

  private nextId(): string {
    this.idCounter += 1;
    return `${this.node}:${this.idCounter}`;
  }

  private async renewSlots(redis: RedisWindows): Promise<void> {
    const now = monotonicMs();
    if (now - this.slotsRenewedAt < RENEW_SLOTS_MS) return;
    this.slotsRenewedAt = now;
    for (const [key, ids] of this.slots.all()) {
      await redis.renew(key, ids);
      // A slot that was released during the outage must not return.
      const released = ids.filter((id) => !this.slots.has(key, id));
      for (const id of released) await redis.leave(key, id);
    }
  }

  private detectLostCounts(since: string, now: number): void {
    if (this.countsSince !== null && this.countsSince !== since) {
      this.shareOnlyUntil = now + SHARE_ONLY_MS;
      this.slotsRenewedAt = -Infinity;
      this.log.warn('Redis has lost its counts; for a minute every node keeps to its share of the rates.');
    }
    this.countsSince = since;
  }

  /** Returns the reading of Redis, unless Redis has lost its counts by a flush or a restart without its data. */
  private verify(window: RateWindow, reading: SharedReading): RateReading {
    const now = monotonicMs();
    this.detectLostCounts(reading.since, now);
    if (now < this.shareOnlyUntil) {
      const share = this.local.peek(this.shareOf(window), now);
      if (!share.allowed) return toFullWindow(share, window);
    }
    if (reading.allowed) this.local.record(window, now);
    return reading;
  }

  private takeShare(window: RateWindow, now: number): RateReading {
    return toFullWindow(this.local.take(this.shareOf(window), now), window);
  }

  /** Returns at least one: a node that admits nothing is useless. */
  private shareOf(window: RateWindow): RateWindow {
    return { ...window, limit: Math.max(1, Math.floor(window.limit / this.nodes)) };
  }

  private async call<T>(response: Promise<T>, timeoutFactor = 1): Promise<T> {
    try {
      const value = await withDeadline(timeoutFactor * this.timeoutMs, response);
      if (this.isExact) this.failures = 0;
      return value;
    } catch (error) {
      this.failures += 1;
      if (this.failures === MAX_FAILURES)
        this.log.warn(`Redis does not answer; every node keeps to its share of the rates: ${String(error)}`);
      throw error;
    }
  }

  private async keepRegistered(redis: RedisWindows): Promise<void> {
    const { signal } = this.stopping;
    while (await delay(HEARTBEAT_MS, true, { signal, ref: false }).catch(() => false))
      await this.register(redis, false);
  }

  private updateNodeCount(count: number): void {
    const now = monotonicMs();
    this.fewerSince = count < this.nodes ? (this.fewerSince ?? now) : null;
    if (this.fewerSince === null || now - this.fewerSince >= NODE_GONE_MS) this.nodes = Math.max(1, count);
  }

  /** Only this probe ends an outage, so that callers do not wait for one. */
  private async register(redis: RedisWindows, first: boolean): Promise<void> {
    const startedAt = monotonicMs();
    try {
      this.updateNodeCount(
        await withDeadline(first ? HEARTBEAT_MS : this.timeoutMs, redis.register(this.node)),
      );
      this.roundTripMs = monotonicMs() - startedAt;
      await withDeadline(HEARTBEAT_MS, this.renewSlots(redis));
      if (this.isExact) return;
      this.failures = 0;
      if (first) return;
      this.shareOnlyUntil = monotonicMs() + SHARE_ONLY_MS;
      this.log.info('Redis answers again; rates are counted over all nodes.');
    } catch {
      // The next call detects the outage, or Redis is known to be unavailable.
    }
  }
}

/** Applies the remaining number of the share to the full limit of the key. */
const toFullWindow = (share: RateReading, { limit }: RateWindow): RateReading => ({
  ...share,
  limit,
  used: Math.max(share.used, limit - Math.max(0, share.limit - share.used)),
});
