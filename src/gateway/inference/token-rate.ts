import type { ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import { RateLimiter, setTokenHeaders, tokenRefusal } from '../../keys';
import type { Admission } from './admit';
import type { Call } from './describe';

/** An answer whose length the caller does not bound is counted as this long until it is known. */
const USUAL_OUTPUT = 1_024;

/** Tokens of the key's minute, taken by an estimate until the request has ended. */
export interface TakenTokens {
  /** The request took so many; counts once. */
  ended(tokens: number): void;
}

/** Takes the tokens that a request is thought to need of its key's minute. */
@Injectable()
export class TokenRate {
  constructor(private readonly rates: RateLimiter) {}

  /** Throws the refusal. Null where the key has no such limit. */
  async take(call: Call, admission: Admission, response: ServerResponse): Promise<TakenTokens | null> {
    const { keyId, rateLimitTpm: limit } = call.inbound.caller;
    if (limit === null) return null;
    const tokens = tokensOf(call, admission, limit);
    const verdict = await this.rates.takeTokens(keyId, limit, tokens);
    setTokenHeaders(response, verdict);
    const refusal = tokenRefusal(verdict, tokens);
    if (refusal !== null) throw refusal;
    let isOpen = true;
    return {
      ended: (used) => {
        if (isOpen && used !== tokens) this.rates.correctTokens(keyId, limit, verdict, used);
        isOpen = false;
      },
    };
  }
}

/** A bound that the caller names counts whole. Without one, no more is expected than the key may use at all. */
function tokensOf(call: Call, { model }: Admission, limit: number): number {
  const { inputEstimate, maxOutputTokens, choices, measure } = call;
  const predicted = (measure?.predictedTokens ?? 0) * choices;
  if (maxOutputTokens !== null) return inputEstimate + maxOutputTokens * choices + predicted;
  const usual = Math.min(USUAL_OUTPUT, model.maxOutputTokens ?? USUAL_OUTPUT) * choices + predicted;
  return inputEstimate >= limit ? inputEstimate + usual : Math.min(limit, inputEstimate + usual);
}
