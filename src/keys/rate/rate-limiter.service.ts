import type { ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import { type Fault, fault, MINUTE_MS } from '../../kernel';
import { addUncheckedHeader } from '../../platform';
import type { Caller } from '../caller';
import { RateWindows, type SlotReading } from './rate-windows';
import type { RateWindow, Reading } from './reading';
import type { TokenWindow } from './token-log';

export type RateVerdict = Reading;

export interface RateState {
  readonly limit: number;
  readonly used: number;
  readonly remaining: number;
  /** Nothing will count any more at this time; null when nothing does. */
  readonly resetsAt: Date | null;
}

/** Tokens taken from the key's minute; corrected when the real number is known. */
export interface TokenVerdict extends Reading {
  readonly id: string;
}

type Limited = Pick<Caller, 'keyId' | 'rateLimitRpm'>;

export interface ParallelState {
  readonly limit: number;
  readonly open: number;
}

/** A key may start so many requests a minute, use so many tokens, and have so many requests open at once. */
@Injectable()
export class RateLimiter {
  constructor(private readonly windows: RateWindows) {}

  /** Takes one request of the key's minute, if there is one left: at once on a single node. */
  take(caller: Limited): RateVerdict | Promise<RateVerdict> {
    return this.windows.take(windowOf(caller));
  }

  /** Takes so many tokens of the key's minute, if they are left. */
  takeTokens(keyId: number, limit: number, tokens: number): TokenVerdict | Promise<TokenVerdict> {
    return this.windows.takeTokens(tokensOf(keyId, limit), tokens);
  }

  /** Corrects a call's tokens to the real number. */
  correctTokens(keyId: number, limit: number, { id }: TokenVerdict, tokens: number): void {
    this.windows.correctTokens(tokensOf(keyId, limit), id, tokens);
  }

  /** Takes one of the key's places for calls that are open at once. */
  enter(keyId: number, limit: number): SlotReading | Promise<SlotReading> {
    return this.windows.enter(slotsOf(keyId), limit);
  }

  leave(keyId: number, { id }: SlotReading): void {
    this.windows.leave(slotsOf(keyId), id);
  }

  /** It is null where the key has no such limit. */
  async tokensOf({ keyId, rateLimitTpm }: Pick<Caller, 'keyId' | 'rateLimitTpm'>): Promise<RateState | null> {
    return rateLimitTpm === null
      ? null
      : stateIn(await this.windows.lookTokens(tokensOf(keyId, rateLimitTpm)));
  }

  async parallelOf({
    keyId,
    maxParallel,
  }: Pick<Caller, 'keyId' | 'maxParallel'>): Promise<ParallelState | null> {
    if (maxParallel === null) return null;
    return { limit: maxParallel, open: await this.windows.open(slotsOf(keyId), maxParallel) };
  }

  /** The answer shows how a key stands, without taking anything. */
  async stateOf(key: Limited): Promise<RateState> {
    return stateIn(await this.windows.look(windowOf(key)));
  }
}

function stateIn({ limit, used, resetMs }: Reading): RateState {
  const resetsAt = used === 0 ? null : new Date(Date.now() + resetMs);
  return { limit, used, remaining: Math.max(0, limit - used), resetsAt };
}

const tokensOf = (keyId: number, limit: number): TokenWindow => ({
  key: `tokens:${keyId}`,
  limit,
  windowMs: MINUTE_MS,
});

const slotsOf = (keyId: number): string => `open:${keyId}`;

const windowOf = ({ keyId, rateLimitRpm }: Limited): RateWindow => ({
  key: `key:${keyId}`,
  limit: rateLimitRpm,
  windowMs: MINUTE_MS,
});

/** Every answer to a counted request tells this of the limit. */
export function setRateHeaders(response: ServerResponse, { limit, used, resetMs }: RateVerdict): void {
  addUncheckedHeader(response, 'x-ratelimit-limit-requests', String(limit));
  addUncheckedHeader(response, 'x-ratelimit-remaining-requests', digitsOf(Math.max(0, limit - used)));
  addUncheckedHeader(response, 'x-ratelimit-reset-requests', inSeconds(Math.ceil(resetMs)));
}

/** Every answer to a call of a key with such a limit tells this of it. */
export function setTokenHeaders(response: ServerResponse, { limit, used, resetMs }: Reading): void {
  addUncheckedHeader(response, 'x-ratelimit-limit-tokens', String(limit));
  addUncheckedHeader(response, 'x-ratelimit-remaining-tokens', digitsOf(Math.max(0, limit - used)));
  addUncheckedHeader(response, 'x-ratelimit-reset-tokens', inSeconds(Math.ceil(resetMs)));
}

const lastDigits = Array.from({ length: 1_000 }, (_, rest) => String(rest).padStart(3, '0'));

/** V8 caches the text of every number until a full collection; here every number differs. */
function digitsOf(count: number): string {
  const rest = count % 1_000;
  return count < 1_000 ? String(count) : `${(count - rest) / 1_000}${lastDigits[rest]!}`;
}

/** It has three decimals; formatting these takes V8 longer than the rest of the headers. */
function inSeconds(ms: number): string {
  const rest = ms % 1_000;
  return `${(ms - rest) / 1_000}.${lastDigits[rest]!}s`;
}

/** It is null for a request that is let in. */
export function rateRefusal({ allowed, limit, retryMs }: RateVerdict): Fault | null {
  if (allowed) return null;
  return fault('rate_limit_exceeded', {
    message: `This key may start ${limit.toLocaleString('en')} requests a minute. Wait as long as the Retry-After header says.`,
    details: { limit: 'rate_limit_rpm', allowed: limit },
    retryAfterSeconds: retryMs / 1_000,
  });
}

/** It is null for a call whose tokens fit. */
export function tokenRefusal({ allowed, limit, used, retryMs }: Reading, tokens: number): Fault | null {
  if (allowed) return null;
  const [wanted, most] = [tokens.toLocaleString('en'), limit.toLocaleString('en')];
  return fault('rate_limit_exceeded', {
    message:
      tokens > limit
        ? `This request takes about ${wanted} tokens, and this key may use ${most} a minute. Shorten it, or lower its bound on the answer.`
        : `This key may use ${most} tokens a minute, and this request takes about ${wanted}. Wait as long as the Retry-After header says.`,
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
