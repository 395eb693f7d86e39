import { type Target } from './dialect';
import { type CanonicalRequest } from './request';
import { type Tally } from './tally';

/** It is no more than the model writes: vendors refuse a limit above it. */
export function outputLimit(
  { maxOutputTokens: limit }: Pick<CanonicalRequest, 'maxOutputTokens'>,
  { facts }: Target,
  tally: Tally,
): number | undefined {
  const most = facts?.maxOutput;
  if (limit === undefined || most === undefined || limit <= most) return limit;
  tally.approximated('max_tokens', `this model writes at most ${most}`, `max_tokens.${limit}`);
  return most;
}
