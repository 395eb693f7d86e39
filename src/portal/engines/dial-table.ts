import { column, type Figure, mixed, type TableModel, tableOf } from '../../views';
import type { Localisation } from '../../web';
import type { AutorouterFacts } from './autorouter-facts';
import { changeIntervalText, costText, dialText, intervalColumn, intervalText } from './autorouter-words';

/** The table shows what each place of the dial would have chosen of the last judged requests, and its worth. */
export function dialTable({ dials, policy }: AutorouterFacts, localisation: Localisation): TableModel {
  const { translate } = localisation;
  const few = translate('qualitative.too-few');
  const text = (value: string | null): Figure => ({ kind: 'text', value: value ?? few });
  return tableOf(
    dials.some(({ pairs }) => pairs > 0) ? dials : [],
    {
      caption: translate('autorouter.dial-preview'),
      compact: true,
      columns: [
        mixed('engines.dial', ({ dial }) => ({
          kind: 'text',
          value: dialText(dial, localisation),
          ...(dial === policy.dial && { note: translate('autorouter.dial-own') }),
        })),
        mixed(
          'autorouter.dial-cost',
          ({ costRatio }) => text(costRatio && changeIntervalText(costRatio, localisation)),
          'end',
        ),
        mixed(
          'autorouter.dial-quality',
          ({ difference }) => text(difference && intervalText(difference, localisation, true)),
          'end',
        ),
        mixed(
          'autorouter.dial-away',
          ({ away }) => (away === null ? text(null) : { kind: 'percent', value: away }),
          'end',
          'minor',
        ),
        column('autorouter.dial-pairs', 'number', ({ pairs }) => pairs, 'minor'),
      ],
      empty: { title: translate('autorouter.dial-none'), text: translate('autorouter.dial-none-text') },
    },
    translate,
  );
}

/** The models that may be chosen, as judged; those of which too little is known say so. */
export function candidateTable(facts: AutorouterFacts, localisation: Localisation): TableModel {
  const { translate } = localisation;
  const { report, candidates, chosen, learning } = facts;
  const scores = new Map(report?.models.map((model) => [model.model, model]));
  const total = chosen.reduce((sum, { requests }) => sum + requests, 0);
  const requests = new Map(chosen.map((one) => [one.model, one.requests]));
  const known = new Map(learning?.models.map((one) => [one.model, one.ready]));
  const noteOf = (model: string): string | undefined => {
    if (model === facts.reference) return translate('qualitative.reference');
    return known.get(model) === false ? translate('request-log.auto.excluded.on_trial') : undefined;
  };
  const rows = candidates
    .map((model) => ({ model, note: noteOf(model), ...scores.get(model) }))
    .sort((one, other) => (other.mean?.value ?? -1) - (one.mean?.value ?? -1));
  return tableOf(
    rows,
    {
      caption: translate('autorouter.candidates'),
      columns: [
        mixed('requests.model', ({ model, note }) => ({
          kind: 'text',
          value: model,
          ...(note !== undefined && { note }),
        })),
        intervalColumn('qualitative.mean', ({ mean }) => mean ?? null, intervalText, localisation),
        intervalColumn('autorouter.answer-cost', ({ cost }) => cost ?? null, costText, localisation),
        column('qualitative.answers', 'number', ({ count = 0 }) => count, 'minor'),
        column(
          'autorouter.chosen-share',
          'percent',
          ({ model }) => (total === 0 ? null : (requests.get(model) ?? 0) / total),
          'minor',
        ),
      ],
      empty: {
        title: translate('autorouter.no-candidates'),
        text: translate('autorouter.no-candidates-text'),
      },
    },
    translate,
  );
}
