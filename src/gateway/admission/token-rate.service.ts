import type { ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import { RateLimiter, setTokenHeaders, tokenRefusal } from '../../keys';
import type { GatewayCall } from '../intake';
import type { Admission } from './admission';

const DEFAULT_OUTPUT_TOKENS = 1_024;

/** Estimate taken from the key's tokens per minute, corrected when the request ends. */
export interface TakenTokens {
  /** Corrects the estimate to the actual number; later calls have no effect. */
  correct(tokens: number): void;
}

@Injectable()
export class TokenRateService {
  constructor(private readonly rates: RateLimiter) {}

  /** Throws if the rate limit is exceeded. Null if the key has no such limit. */
  async take(call: GatewayCall, admission: Admission, response: ServerResponse): Promise<TakenTokens | null> {
    const { keyId, rateLimitTpm: limit } = call.inbound.caller;
    if (limit === null) return null;
    const tokens = tokensOf(call, admission, limit);
    const verdict = await this.rates.takeTokens(keyId, limit, tokens);
    setTokenHeaders(response, verdict);
    const refusal = tokenRefusal(verdict, tokens);
    if (refusal !== null) throw refusal;
    let isOpen = true;
    return {
      correct: (used) => {
        if (isOpen && used !== tokens) this.rates.correctTokens(keyId, limit, verdict, used);
        isOpen = false;
      },
    };
  }
}

/** A requested limit counts in full. Without one, the estimate never exceeds the key's limit. */
function tokensOf(call: GatewayCall, { model }: Admission, limit: number): number {
  const { inputEstimate, maxOutputTokens, choices, measure } = call;
  const predicted = (measure?.predictedTokens ?? 0) * choices;
  if (maxOutputTokens !== null) return inputEstimate + maxOutputTokens * choices + predicted;
  const defaultOutput =
    Math.min(DEFAULT_OUTPUT_TOKENS, model.maxOutputTokens ?? DEFAULT_OUTPUT_TOKENS) * choices + predicted;
  return inputEstimate >= limit
    ? inputEstimate + defaultOutput
    : Math.min(limit, inputEstimate + defaultOutput);
}
