import type { AutoDecision } from '../../autorouter';
import { formatUsd } from '../../kernel';
import type { LabelledFigure } from '../../views';
import type { Localisation } from '../../web';

const COST_DECIMALS = 6;

/** Explains why `auto` chose a model: the deciding rule, the weighed candidates and the excluded ones. */
export function autoItems(decision: AutoDecision | null, localisation: Localisation): LabelledFigure[] {
  if (decision === null) return [];
  const { translate } = localisation;
  const item = (name: string, value: string): LabelledFigure => ({
    label: translate(`request-log.auto.${name}`),
    figure: { kind: 'text', value },
  });
  const optionalItem = (name: string, value: string | null | undefined): LabelledFigure[] =>
    value === null || value === undefined || value === '' ? [] : [item(name, value)];
  const reasonText = translate(`request-log.auto.reasons.${decision.reason}`);
  if (decision.reason === 'fallback') return [item('why', reasonText), item('chosen', decision.chosen)];
  const candidates = decision.candidates.map(({ model, q, lo, hi, cost_est: cost }) =>
    [model, `${share(q)} (${share(lo)}–${share(hi)})`, `$${dollars(cost)}`].join(' '),
  );
  const exclusions = Object.entries(decision.excluded).map(
    ([reason, count]) => `${translate(`request-log.auto.excluded.${reason}`)} ${count}`,
  );
  return [
    item('why', reasonText),
    item('chosen', decision.chosen),
    ...optionalItem('would-have', decision.would_have),
    ...optionalItem('answered-by', decision.answered_by),
    item('reference', decision.ref),
    ...optionalItem('usual-cost', referenceCost(decision)),
    item('weighed', candidates.join(' · ')),
    ...optionalItem('order', decision.fallback_order.join(' · ')),
    ...optionalItem('last-resort', lastResort(decision)),
    ...optionalItem('left-out', exclusions.join(' · ')),
    ...optionalItem('pacing', pacingText(decision, localisation)),
    ...optionalItem('conversation', conversationText(decision, localisation)),
    item('kind', `${decision.bucket} · ${decision.neighbours}`),
    item(
      'rule',
      `${decision.alg} · ${decision.policy.dial} · ${levelText(decision.policy.level, translate)}`,
    ),
    ...optionalItem(
      'no-state',
      decision.fallback === undefined ? null : translate('request-log.auto.no-state-text'),
    ),
  ];
}

/** Levels from other versions can lack a translation. */
function levelText(level: string, translate: Localisation['translate']): string {
  const key = `request-log.auto.levels.${level}`;
  const text = translate(key);
  return text === key ? level : text;
}

type ExplainedDecision = Exclude<AutoDecision, { readonly reason: 'fallback' }>;

/** Returns null if no budget is under pressure. */
function pacingText({ pacing }: ExplainedDecision, { translate, locale }: Localisation): string | null {
  // Absent from decisions of earlier versions.
  if (!pacing || pacing.raise === 0) return null;
  const { budget, projected, raise } = pacing;
  return translate('request-log.auto.pacing-text', {
    whose: translate(`request-log.auto.budgets.${budget}`),
    share: new Intl.NumberFormat(locale, { style: 'percent' }).format(projected),
    raise: share(raise),
  });
}

function conversationText({ session }: ExplainedDecision, { translate }: Localisation): string | null {
  if (session === null) return null;
  const [state, breakReason] = session.sticky.split(':');
  return translate(`request-log.auto.sticky.${state}`, {
    why: breakReason === undefined ? '' : translate(`request-log.auto.broken.${breakReason}`),
  });
}

/** Decisions of earlier versions do not mark last-resort models. */
const lastResort = ({ fallback_order: order, last_resort: count = 0 }: ExplainedDecision): string =>
  count === 0 ? '' : order.slice(-count).join(' · ');
/** Returns null for decisions of earlier versions. */
const referenceCost = ({ ref_cost: cost }: { readonly ref_cost?: number }): string | null =>
  cost === undefined ? null : `$${dollars(cost)}`;
const share = (quality: number): string => quality.toFixed(2);
const dollars = (nano: number): string => formatUsd(BigInt(Math.round(nano)), { fixed: COST_DECIMALS });
