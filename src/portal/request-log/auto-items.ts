import type { AutoDecision } from '../../autorouter';
import { formatUsd } from '../../kernel';
import type { LabelledFigure } from '../../views';
import type { Localisation } from '../../web';

const COST_DECIMALS = 6;

/** They say why `auto` chose the model of a request: the rule that decided, what it weighed, and what it left out. */
export function autoItems(decision: AutoDecision | null, localisation: Localisation): LabelledFigure[] {
  if (decision === null) return [];
  const { translate } = localisation;
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
    ...given('usual-cost', usualCost(decision)),
    item('weighed', weighed.join(' · ')),
    ...given('order', decision.fallback_order.join(' · ')),
    ...given('last-resort', lastResort(decision)),
    ...given('left-out', left.join(' · ')),
    ...given('pacing', pacingText(decision, localisation)),
    ...given('conversation', conversationText(decision, localisation)),
    item('kind', `${decision.bucket} · ${decision.neighbours}`),
    item(
      'rule',
      `${decision.alg} · ${decision.policy.dial} · ${levelText(decision.policy.level, translate)}`,
    ),
    ...given(
      'no-state',
      decision.fallback === undefined ? null : translate('request-log.auto.no-state-text'),
    ),
  ];
}

/** In decisions of other versions a level may have no words here. */
function levelText(level: string, translate: Localisation['translate']): string {
  const key = `request-log.auto.levels.${level}`;
  const text = translate(key);
  return text === key ? level : text;
}

type Explained = Exclude<AutoDecision, { readonly reason: 'fallback' }>;

/** It is null where no budget presses. */
function pacingText({ pacing }: Explained, { translate, locale }: Localisation): string | null {
  // Decisions of earlier versions lack it.
  if (!pacing || pacing.raise === 0) return null;
  const { budget, projected, raise } = pacing;
  return translate('request-log.auto.pacing-text', {
    whose: translate(`request-log.auto.budgets.${budget}`),
    share: new Intl.NumberFormat(locale, { style: 'percent' }).format(projected),
    raise: share(raise),
  });
}

function conversationText({ session }: Explained, { translate }: Localisation): string | null {
  if (session === null) return null;
  const [state, why] = session.sticky.split(':');
  return translate(`request-log.auto.sticky.${state}`, {
    why: why === undefined ? '' : translate(`request-log.auto.broken.${why}`),
  });
}

/** Earlier decisions do not tell them apart. */
const lastResort = ({ fallback_order: order, last_resort: count = 0 }: Explained): string =>
  count === 0 ? '' : order.slice(-count).join(' · ');
/** It is null in decisions of earlier versions. */
const usualCost = ({ ref_cost: cost }: { readonly ref_cost?: number }): string | null =>
  cost === undefined ? null : `$${dollars(cost)}`;
const share = (quality: number): string => quality.toFixed(2);
const dollars = (nano: number): string => formatUsd(BigInt(Math.round(nano)), { fixed: COST_DECIMALS });
