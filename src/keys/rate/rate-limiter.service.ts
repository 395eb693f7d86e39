import type { ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import { type Fault, fault } from '../../kernel';
import { addUncheckedHeader } from '../../platform';
import type { Caller } from '../caller';
import { RateWindows } from './rate-windows';
import type { RateWindow, Reading } from './reading';

const MINUTE_MS = 60_000;

export type RateVerdict = Reading;

export interface RateState {
  readonly limit: number;
  readonly used: number;
  readonly remaining: number;
  /** When nothing will count any more; null when nothing does. */
  readonly resetsAt: Date | null;
}

/** How many requests a key may start in any minute. */
@Injectable()
export class RateLimiter {
  constructor(private readonly windows: RateWindows) {}

  /** Takes one request of the key's minute, if there is one left: at once on a single node. */
  take(caller: Pick<Caller, 'keyId' | 'rateLimitRpm'>): RateVerdict | Promise<RateVerdict> {
    return this.windows.take(windowOf(caller));
  }

  /** How a key stands, without taking anything. */
  async stateOf(key: Pick<Caller, 'keyId' | 'rateLimitRpm'>): Promise<RateState> {
    const { limit, used, resetMs } = await this.windows.look(windowOf(key));
    const resetsAt = used === 0 ? null : new Date(Date.now() + resetMs);
    return { limit, used, remaining: Math.max(0, limit - used), resetsAt };
  }
}

const windowOf = ({ keyId, rateLimitRpm }: Pick<Caller, 'keyId' | 'rateLimitRpm'>): RateWindow => ({
  key: `key:${keyId}`,
  limit: rateLimitRpm,
  windowMs: MINUTE_MS,
});

/** What every answer to a counted request says of the limit. */
export function setRateHeaders(response: ServerResponse, { limit, used, resetMs }: RateVerdict): void {
  addUncheckedHeader(response, 'x-ratelimit-limit-requests', String(limit));
  addUncheckedHeader(response, 'x-ratelimit-remaining-requests', digitsOf(Math.max(0, limit - used)));
  addUncheckedHeader(response, 'x-ratelimit-reset-requests', inSeconds(Math.ceil(resetMs)));
}

const lastDigits = Array.from({ length: 1_000 }, (_, rest) => String(rest).padStart(3, '0'));

/** The engine keeps the text of every number it was asked for, until all of the heap is collected; here each is another. */
function digitsOf(count: number): string {
  const rest = count % 1_000;
  return count < 1_000 ? String(count) : `${(count - rest) / 1_000}${lastDigits[rest]!}`;
}

/** With three decimals; the engine takes longer over those than over anything else of these headers. */
function inSeconds(ms: number): string {
  const rest = ms % 1_000;
  return `${(ms - rest) / 1_000}.${lastDigits[rest]!}s`;
}

/** Null for a request that is let in. */
export function rateRefusal({ allowed, limit, retryMs }: RateVerdict): Fault | null {
  if (allowed) return null;
  return fault('rate_limit_exceeded', {
    message: `This key may start ${limit.toLocaleString('en')} requests a minute. Wait as long as the Retry-After header says.`,
    retryAfterSeconds: retryMs / 1_000,
  });
}
