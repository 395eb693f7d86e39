import type { AutoDecision } from '../../gateway';
import { formatUsd } from '../../kernel';
import type { LabelledFigure } from '../../views';
import type { Looks } from '../lists/looks';

const COST_DECIMALS = 6;

/** Why `auto` chose the model of a request: the rule that decided, what it weighed, and what it left out. */
export function autoItems(decision: AutoDecision | null, { translate }: Looks): LabelledFigure[] {
  if (decision === null) return [];
  const item = (name: string, value: string): LabelledFigure => ({
    label: translate(`request-log.auto.${name}`),
    figure: { kind: 'text', value },
  });
  const given = (name: string, value: string | null | undefined): LabelledFigure[] =>
    value === null || value === undefined || value === '' ? [] : [item(name, value)];
  const why = translate(`request-log.auto.reasons.${decision.reason}`);
  if (decision.reason === 'fallback') return [item('why', why), item('chosen', decision.chosen)];
  const weighed = decision.candidates.map(({ model, q, lo, hi, cost_est: cost }) =>
    [model, `${share(q)} (${share(lo)}–${share(hi)})`, `$${dollars(cost)}`].join(' '),
  );
  const left = Object.entries(decision.excluded).map(
    ([reason, count]) => `${translate(`request-log.auto.excluded.${reason}`)} ${count}`,
  );
  return [
    item('why', why),
    item('chosen', decision.chosen),
    ...given('would-have', decision.would_have),
    ...given('answered-by', decision.answered_by),
    item('reference', decision.ref),
    item('weighed', weighed.join(' · ')),
    ...given('left-out', left.join(' · ')),
    item('kind', `${decision.bucket} · ${decision.neighbours}`),
    item('rule', `${decision.alg} · ${decision.policy.dial} · ${decision.policy.level}`),
    ...given(
      'no-state',
      decision.fallback === undefined ? null : translate('request-log.auto.no-state-text'),
    ),
  ];
}

const share = (quality: number): string => quality.toFixed(2);
const dollars = (nano: number): string => formatUsd(BigInt(Math.round(nano)), { fixed: COST_DECIMALS });
