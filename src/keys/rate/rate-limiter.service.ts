import type { ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import { type Fault, fault, type MaybePromise, MINUTE_MS } from '../../kernel';
import { addUncheckedHeader } from '../../platform';
import type { Caller } from '../caller';
import { RateWindows, type SlotReading } from './rate-windows';
import type { RateWindow, RateReading } from './rate-reading';
import type { TokenWindow } from './token-log';

export type RateVerdict = RateReading;

export interface RateState {
  readonly limit: number;
  readonly used: number;
  readonly remaining: number;
  /** Time from which nothing counts any more; null if nothing counts. */
  readonly resetsAt: Date | null;
}

export interface TokenVerdict extends RateReading {
  readonly id: string;
}

type RateLimitedKey = Pick<Caller, 'keyId' | 'rateLimitRpm'>;

export interface ParallelState {
  readonly limit: number;
  readonly open: number;
}

/** Limits of a key: requests per minute, tokens per minute, and concurrent requests. */
@Injectable()
export class RateLimiter {
  constructor(private readonly windows: RateWindows) {}

  /** Counts a request against the key's rate per minute if any is left. Synchronous if there is only one node. */
  take(caller: RateLimitedKey): MaybePromise<RateVerdict> {
    return this.windows.take(windowOf(caller));
  }

  takeTokens(keyId: number, limit: number, tokens: number): MaybePromise<TokenVerdict> {
    return this.windows.takeTokens(tokensOf(keyId, limit), tokens);
  }

  correctTokens(keyId: number, limit: number, { id }: TokenVerdict, tokens: number): void {
    this.windows.correctTokens(tokensOf(keyId, limit), id, tokens);
  }

  enter(keyId: number, limit: number): MaybePromise<SlotReading> {
    return this.windows.enter(slotsOf(keyId), limit);
  }

  leave(keyId: number, { id }: SlotReading): void {
    this.windows.leave(slotsOf(keyId), id);
  }

  /** Returns null if the key has no such limit. */
  async tokensOf({ keyId, rateLimitTpm }: Pick<Caller, 'keyId' | 'rateLimitTpm'>): Promise<RateState | null> {
    return rateLimitTpm === null
      ? null
      : stateIn(await this.windows.peekTokens(tokensOf(keyId, rateLimitTpm)));
  }

  async parallelOf({
    keyId,
    maxParallel,
  }: Pick<Caller, 'keyId' | 'maxParallel'>): Promise<ParallelState | null> {
    if (maxParallel === null) return null;
    return { limit: maxParallel, open: await this.windows.open(slotsOf(keyId), maxParallel) };
  }

  async stateOf(key: RateLimitedKey): Promise<RateState> {
    return stateIn(await this.windows.peek(windowOf(key)));
  }
}

function stateIn({ limit, used, resetMs }: RateReading): RateState {
  const resetsAt = used === 0 ? null : new Date(Date.now() + resetMs);
  return { limit, used, remaining: Math.max(0, limit - used), resetsAt };
}

const tokensOf = (keyId: number, limit: number): TokenWindow => ({
  key: `tokens:${keyId}`,
  limit,
  windowMs: MINUTE_MS,
});

const slotsOf = (keyId: number): string => `open:${keyId}`;

const windowOf = ({ keyId, rateLimitRpm }: RateLimitedKey): RateWindow => ({
  key: `key:${keyId}`,
  limit: rateLimitRpm,
  windowMs: MINUTE_MS,
});

export function setRateHeaders(response: ServerResponse, { limit, used, resetMs }: RateVerdict): void {
  addUncheckedHeader(response, 'x-ratelimit-limit-requests', String(limit));
  addUncheckedHeader(response, 'x-ratelimit-remaining-requests', digitsOf(Math.max(0, limit - used)));
  addUncheckedHeader(response, 'x-ratelimit-reset-requests', toSeconds(Math.ceil(resetMs)));
}

export function setTokenHeaders(response: ServerResponse, { limit, used, resetMs }: RateReading): void {
  addUncheckedHeader(response, 'x-ratelimit-limit-tokens', String(limit));
  addUncheckedHeader(response, 'x-ratelimit-remaining-tokens', digitsOf(Math.max(0, limit - used)));
  addUncheckedHeader(response, 'x-ratelimit-reset-tokens', toSeconds(Math.ceil(resetMs)));
}

const lastDigits = Array.from({ length: 1_000 }, (_, rest) => String(rest).padStart(3, '0'));

/** V8 caches the string of every number until a full collection; here every number differs. */
function digitsOf(count: number): string {
  const rest = count % 1_000;
  return count < 1_000 ? String(count) : `${(count - rest) / 1_000}${lastDigits[rest]!}`;
}

/** Formats three decimals; V8's own formatting takes longer than the rest of the headers. */
function toSeconds(ms: number): string {
  const rest = ms % 1_000;
  return `${(ms - rest) / 1_000}.${lastDigits[rest]!}s`;
}

/** Returns null for an admitted request. */
export function rateRefusal({ allowed, limit, retryMs }: RateVerdict): Fault | null {
  if (allowed) return null;
  return fault('rate_limit_exceeded', {
    message: `This key may start ${limit.toLocaleString('en')} requests a minute. Wait as long as the Retry-After header says.`,
    details: { limit: 'rate_limit_rpm', allowed: limit },
    retryAfterSeconds: retryMs / 1_000,
  });
}

/** Returns null for a call whose tokens fit. */
export function tokenRefusal({ allowed, limit, used, retryMs }: RateReading, tokens: number): Fault | null {
  if (allowed) return null;
  const [needed, maximum] = [tokens.toLocaleString('en'), limit.toLocaleString('en')];
  return fault('rate_limit_exceeded', {
    message:
      tokens > limit
        ? `This request takes about ${needed} tokens, and this key may use ${maximum} a minute. Shorten it, or lower its bound on the answer.`
        : `This key may use ${maximum} tokens a minute, and this request takes about ${needed}. Wait as long as the Retry-After header says.`,
    details: {
      limit: 'rate_limit_tpm',
      allowed: limit,
      needed: tokens,
      remaining: Math.max(0, limit - used),
    },
    retryAfterSeconds: retryMs / 1_000,
  });
}

export const parallelRefusal = ({ allowed, limit, used }: SlotReading): Fault | null =>
  allowed
    ? null
    : fault('rate_limit_exceeded', {
        message: `This key may have ${limit.toLocaleString('en')} calls open at once. Wait until one of them has ended.`,
        details: { limit: 'max_parallel', allowed: limit, open: used },
        retryAfterSeconds: 1,
      });
