import type { DialOutcome } from '../../quality';
import type { Cell, ColumnModel, TableModel } from '../../views';
import type { Localisation } from '../../web';
import type { AutorouterFacts } from './autorouter-facts';
import { changeIntervalText, costText, dialText, intervalText } from './autorouter-words';

const end = 'end' as const;

/** What every place of the dial would have chosen of the last judged requests, and what that was worth. */
export function dialTable({ dials, policy }: AutorouterFacts, localisation: Localisation): TableModel {
  const { translate } = localisation;
  const columns: ColumnModel[] = [
    { label: translate('engines.dial') },
    { label: translate('autorouter.dial-cost'), align: end },
    { label: translate('autorouter.dial-quality'), align: end },
    { label: translate('autorouter.dial-away'), align: end, minor: true },
    { label: translate('autorouter.dial-pairs'), align: end, minor: true },
  ];
  const hasPairs = dials.some(({ pairs }) => pairs > 0);
  return {
    caption: translate('autorouter.dial-preview'),
    compact: true,
    columns,
    rows: hasPairs ? dials.map((outcome) => ({ cells: dialCells(outcome, policy.dial, localisation) })) : [],
    empty: { title: translate('autorouter.dial-none'), text: translate('autorouter.dial-none-text') },
  };
}

function dialCells(
  { dial, pairs, away, difference, costRatio }: DialOutcome,
  own: number,
  localisation: Localisation,
): Cell[] {
  const { translate } = localisation;
  const few = translate('qualitative.too-few');
  const text = (value: string | null): Cell => ({ kind: 'text', value: value ?? few, align: end });
  return [
    {
      kind: 'text',
      value: dialText(dial, localisation),
      heading: true,
      ...(dial === own ? { note: translate('autorouter.dial-own') } : {}),
    },
    text(costRatio === null ? null : changeIntervalText(costRatio, localisation)),
    text(difference === null ? null : intervalText(difference, localisation, true)),
    away === null
      ? { ...text(null), minor: true }
      : { kind: 'percent', value: away, align: end, minor: true },
    { kind: 'number', value: pairs, align: end, minor: true },
  ];
}

/** The models that may be chosen, as judged; those of which too little is known say so. */
export function candidateTable(facts: AutorouterFacts, localisation: Localisation): TableModel {
  const { translate } = localisation;
  const { report, candidates, chosen, learning } = facts;
  const scores = new Map(report?.models.map((model) => [model.model, model]));
  const total = chosen.reduce((sum, { requests }) => sum + requests, 0);
  const requests = new Map(chosen.map((one) => [one.model, one.requests]));
  const known = new Map(learning?.models.map((one) => [one.model, one.ready]));
  const few = translate('qualitative.too-few');
  const rowOf = (model: string): Cell[] => {
    const { mean = null, cost = null, count = 0 } = scores.get(model) ?? {};
    const isReference = model === facts.reference;
    const note = isReference
      ? translate('qualitative.reference')
      : known.get(model) === false
        ? translate('request-log.auto.excluded.on_trial')
        : undefined;
    return [
      { kind: 'text', value: model, heading: true, ...(note === undefined ? {} : { note }) },
      { kind: 'text', value: mean === null ? few : intervalText(mean, localisation), align: end },
      { kind: 'text', value: cost === null ? few : costText(cost, localisation), align: end },
      { kind: 'number', value: count, align: end, minor: true },
      {
        kind: 'percent',
        value: total === 0 ? null : (requests.get(model) ?? 0) / total,
        align: end,
        minor: true,
      },
    ];
  };
  return {
    caption: translate('autorouter.candidates'),
    columns: [
      { label: translate('requests.model') },
      { label: translate('qualitative.mean'), align: end },
      { label: translate('autorouter.answer-cost'), align: end },
      { label: translate('qualitative.answers'), align: end, minor: true },
      { label: translate('autorouter.chosen-share'), align: end, minor: true },
    ],
    rows: [...candidates]
      .sort((one, other) => (scores.get(other)?.mean?.value ?? -1) - (scores.get(one)?.mean?.value ?? -1))
      .map((model) => ({ cells: rowOf(model) })),
    empty: { title: translate('autorouter.no-candidates'), text: translate('autorouter.no-candidates-text') },
  };
}
