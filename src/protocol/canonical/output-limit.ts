import { type EncodingTarget } from './dialect';
import { type CanonicalRequest } from './request';
import { type Tally } from './tally';

/** Caps the limit at the model's maximum: vendors refuse a higher one. */
export function outputLimit(
  { maxOutputTokens: limit }: Pick<CanonicalRequest, 'maxOutputTokens'>,
  { facts }: EncodingTarget,
  tally: Tally,
): number | undefined {
  const maxOutput = facts?.maxOutput;
  if (limit === undefined || maxOutput === undefined || limit <= maxOutput) return limit;
  tally.approximated('max_tokens', `this model writes at most ${maxOutput}`, `max_tokens.${limit}`);
  return maxOutput;
}
