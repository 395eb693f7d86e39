import { type Effort, EFFORTS } from '../vendors';
import { type CanonicalRequest, type DialectName, type Tally, type Target } from './canonical';

/** Thinking tokens up to which an effort is the nearest word. */
const BUDGETS: Readonly<Record<Exclude<Effort, 'none'>, number>> = {
  minimal: 1024,
  low: 4096,
  medium: 12_288,
  high: 32_768,
  xhigh: 65_536,
  max: 65_536,
};

const isEffort = (word: string): word is Effort => EFFORTS.some((effort) => effort === word);

export const budgetOf = (effort: string): number =>
  isEffort(effort) && effort !== 'none' ? BUDGETS[effort] : BUDGETS.medium;

export const effortOfBudget = (tokens: number): Effort =>
  tokens <= BUDGETS.low ? 'low' : tokens <= BUDGETS.medium ? 'medium' : 'high';

/** Of the efforts that a model takes, it returns the nearest to the wanted one; of two as near, the lower one. */
export function nearestEffort(wanted: string, taken: readonly Effort[]): Effort | undefined {
  if (!isEffort(wanted)) return undefined;
  const place = EFFORTS.indexOf(wanted);
  const distance = (effort: Effort): number => Math.abs(EFFORTS.indexOf(effort) - place);
  return taken
    .filter((effort) => effort !== 'none' || wanted === 'none')
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

/** Counts an effort that the model does not have, named as the caller wrote it. */
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

/** Nothing is sent to a model that is known not to think. */
export const cannotThink = ({ facts }: Target): boolean =>
  facts !== undefined && facts.known !== null && facts.thinking === undefined;

/** The wish for reasoning as one of the words that the target's model takes. */
export function effortFor(
  request: CanonicalRequest,
  { facts, ...target }: Target,
  tally: Tally,
  wire: 'chat' | 'responses',
): string | undefined {
  const { reasoning, source } = request;
  if (!reasoning) return undefined;
  if (reasoning.display !== undefined) tally.dropped('thinking.display', 'unknown to the target');
  if (cannotThink({ ...target, facts })) {
    tally.dropped('reasoning', 'this model cannot be told how to think');
    return undefined;
  }
  const taken = facts?.thinking?.efforts?.filter(
    (effort) => wire === 'responses' || facts.thinking?.responsesOnly?.includes(effort) !== true,
  );
  const canRest = source !== 'messages' || taken?.includes('none') === true;
  const wanted = wantedEffort(reasoning, canRest, tally);
  if (wanted === undefined) return undefined;
  // Few models of these dialects take `max`.
  const likely = source === 'messages' && wanted === 'max' ? 'high' : wanted;
  const nearest = taken === undefined ? likely : nearestEffort(wanted, taken);
  if (nearest !== wanted) replaceEffort(request, nearest, tally);
  return nearest;
}

function wantedEffort(
  reasoning: NonNullable<CanonicalRequest['reasoning']>,
  canRest: boolean,
  tally: Tally,
): string | undefined {
  if (reasoning.mode === 'off') {
    if (canRest) return 'none';
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
