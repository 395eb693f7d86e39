import { type Effort, EFFORTS } from '../vendors';
import { type CanonicalRequest, type DialectName, type Tally, type EncodingTarget } from './canonical';

/** Maximum thinking tokens for which an effort is the closest equivalent. */
const MAX_BUDGET_TOKENS: Readonly<Record<Exclude<Effort, 'none'>, number>> = {
  minimal: 1024,
  low: 4096,
  medium: 12_288,
  high: 32_768,
  xhigh: 65_536,
  max: 65_536,
};

const isEffort = (text: string): text is Effort => EFFORTS.some((effort) => effort === text);

export const budgetOf = (effort: string): number =>
  isEffort(effort) && effort !== 'none' ? MAX_BUDGET_TOKENS[effort] : MAX_BUDGET_TOKENS.medium;

export const effortOfBudget = (tokens: number): Effort =>
  tokens <= MAX_BUDGET_TOKENS.low ? 'low' : tokens <= MAX_BUDGET_TOKENS.medium ? 'medium' : 'high';

/** Returns the supported effort closest to the requested one; of two equally close, the lower one. */
export function nearestEffort(requested: string, supported: readonly Effort[]): Effort | undefined {
  if (!isEffort(requested)) return undefined;
  const position = EFFORTS.indexOf(requested);
  const distance = (effort: Effort): number => Math.abs(EFFORTS.indexOf(effort) - position);
  return supported
    .filter((effort) => effort !== 'none' || requested === 'none')
    .reduce<Effort | undefined>(
      (best, effort) => (best === undefined || distance(effort) < distance(best) ? effort : best),
      undefined,
    );
}

const EFFORT_FIELDS: Readonly<Record<DialectName, string>> = {
  chat: 'reasoning_effort',
  messages: 'output_config.effort',
  responses: 'reasoning.effort',
};

export function replaceEffort(
  { reasoning, source }: CanonicalRequest,
  nearest: string | undefined,
  tally: Tally,
): void {
  const reason = `the nearest effort is ${nearest ?? 'none'}`;
  if (reasoning?.effort === undefined || reasoning.mode === 'off')
    return tally.approximated('reasoning', reason);
  const field = EFFORT_FIELDS[source];
  tally.approximated(field, reason, `${field}.${reasoning.effort}`);
}

/** Whether the model is known not to think, so that no reasoning field is sent. */
export const cannotThink = ({ facts }: EncodingTarget): boolean =>
  facts !== undefined && facts.known !== null && facts.thinking === undefined;

export function effortFor(
  request: CanonicalRequest,
  { facts, ...target }: EncodingTarget,
  tally: Tally,
  dialect: 'chat' | 'responses',
): string | undefined {
  const { reasoning, source } = request;
  if (!reasoning) return undefined;
  if (reasoning.display !== undefined) tally.dropped('thinking.display', 'unknown to the target');
  if (cannotThink({ ...target, facts })) {
    tally.dropped('reasoning', 'this model cannot be told how to think');
    return undefined;
  }
  const supported = facts?.thinking?.efforts?.filter(
    (effort) => dialect === 'responses' || facts.thinking?.responsesOnly?.includes(effort) !== true,
  );
  const canDisable = source !== 'messages' || supported?.includes('none') === true;
  const requested = requestedEffort(reasoning, canDisable, tally);
  if (requested === undefined) return undefined;
  // Few models of these dialects support `max`.
  const assumed = source === 'messages' && requested === 'max' ? 'high' : requested;
  const nearest = supported === undefined ? assumed : nearestEffort(requested, supported);
  if (nearest !== requested) replaceEffort(request, nearest, tally);
  return nearest;
}

function requestedEffort(
  reasoning: NonNullable<CanonicalRequest['reasoning']>,
  canDisable: boolean,
  tally: Tally,
): string | undefined {
  if (reasoning.mode === 'off') {
    if (canDisable) return 'none';
    tally.dropped('thinking', 'the target decides by itself');
    return undefined;
  }
  if (reasoning.effort !== undefined) {
    if (reasoning.mode !== undefined) tally.approximated('thinking', 'expressed as effort');
    return reasoning.effort;
  }
  if (reasoning.budgetTokens !== undefined) {
    tally.approximated('thinking.budget_tokens', 'expressed as effort');
    return effortOfBudget(reasoning.budgetTokens);
  }
  if (reasoning.mode !== undefined) tally.dropped('thinking', 'the target decides by itself');
  return undefined;
}
