import type { ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import { RateLimiter, setTokenHeaders, tokenRefusal } from '../../keys';
import type { Call } from '../intake';
import type { Admission } from './admission';

/** The assumed length of an answer without a bound, until it is known. */
const USUAL_OUTPUT = 1_024;

/** An estimate taken from the key's tokens per minute, corrected when the request ends. */
export interface TakenTokens {
  /** Corrects the estimate to the real number; counts once. */
  ended(tokens: number): void;
}

/** Takes the tokens that a request is thought to need of its key's minute. */
@Injectable()
export class TokenRate {
  constructor(private readonly rates: RateLimiter) {}

  /** Throws the refusal. It is null where the key has no such limit. */
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

/** A named bound counts whole. Without one, the estimate never exceeds the key's limit. */
function tokensOf(call: Call, { model }: Admission, limit: number): number {
  const { inputEstimate, maxOutputTokens, choices, measure } = call;
  const predicted = (measure?.predictedTokens ?? 0) * choices;
  if (maxOutputTokens !== null) return inputEstimate + maxOutputTokens * choices + predicted;
  const usual = Math.min(USUAL_OUTPUT, model.maxOutputTokens ?? USUAL_OUTPUT) * choices + predicted;
  return inputEstimate >= limit ? inputEstimate + usual : Math.min(limit, inputEstimate + usual);
}
