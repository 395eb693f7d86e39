import { type CanonicalRequest, type Tally, type Target } from './canonical';

const OPENAI_EFFORTS = new Set(['minimal', 'low', 'medium', 'high', 'xhigh']);
/** Thinking tokens up to which an effort is the nearest word. */
const BUDGETS = { minimal: 1024, low: 4096, medium: 12_288, high: 32_768, xhigh: 65_536 };
export type Effort = keyof typeof BUDGETS;

const isEffort = (word: string): word is Effort => OPENAI_EFFORTS.has(word);

export const budgetOf = (effort: string): number =>
  isEffort(effort) ? BUDGETS[effort] : effort === 'max' ? BUDGETS.xhigh : BUDGETS.medium;

/** The wish for reasoning as one of the OpenAI dialects' words. */
export function effortFor(request: CanonicalRequest, target: Target, tally: Tally): string | undefined {
  const { reasoning, source } = request;
  if (!reasoning) return undefined;
  if (reasoning.display !== undefined) tally.dropped('thinking.display', 'unknown to the target');
  if (target.reasoning === false) {
    tally.dropped('reasoning', 'this model cannot be told how to think');
    return undefined;
  }
  const own = source !== 'messages';
  if (reasoning.mode === 'off') {
    if (own) return 'none';
    tally.dropped('thinking', 'the target decides by itself');
    return undefined;
  }
  if (reasoning.effort !== undefined) {
    if (reasoning.mode !== undefined) tally.approximated('thinking', 'expressed as effort');
    if (own || isEffort(reasoning.effort)) return reasoning.effort;
    tally.approximated('output_config.effort', 'the nearest effort');
    return 'high';
  }
  if (reasoning.budgetTokens !== undefined) {
    tally.approximated('thinking.budget_tokens', 'expressed as effort');
    const tokens = reasoning.budgetTokens;
    return tokens <= BUDGETS.low ? 'low' : tokens <= BUDGETS.medium ? 'medium' : 'high';
  }
  if (reasoning.mode === 'adaptive') tally.dropped('thinking', 'the target decides by itself');
  return undefined;
}
