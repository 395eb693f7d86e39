import { column, type Figure, mixedColumn, type TableModel, tableOf } from '../../views';
import type { Localisation } from '../../web';
import type { AutorouterData } from './autorouter-data';
import { changeIntervalText, costText, dialText, intervalColumn, intervalText } from './autorouter-text';

export function dialTable({ dials, policy }: AutorouterData, localisation: Localisation): TableModel {
  const { translate } = localisation;
  const tooFew = translate('qualitative.too-few');
  const text = (value: string | null): Figure => ({ kind: 'text', value: value ?? tooFew });
  return tableOf(
    dials.some(({ pairs }) => pairs > 0) ? dials : [],
    {
      caption: translate('autorouter.dial-preview'),
      compact: true,
      columns: [
        mixedColumn('engines.dial', ({ dial }) => ({
          kind: 'text',
          value: dialText(dial, localisation),
          ...(dial === policy.dial && { note: translate('autorouter.dial-own') }),
        })),
        mixedColumn(
          'autorouter.dial-cost',
          ({ costRatio }) => text(costRatio && changeIntervalText(costRatio, localisation)),
          'end',
        ),
        mixedColumn(
          'autorouter.dial-quality',
          ({ difference }) => text(difference && intervalText(difference, localisation, true)),
          'end',
        ),
        mixedColumn(
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

/** Candidates with their scores; models with too little data are marked. */
export function candidateTable(facts: AutorouterData, localisation: Localisation): TableModel {
  const { translate } = localisation;
  const { report, candidates, chosen, learning } = facts;
  const scores = new Map(report?.models.map((model) => [model.model, model]));
  const total = chosen.reduce((sum, { requests }) => sum + requests, 0);
  const requests = new Map(chosen.map((one) => [one.model, one.requests]));
  const readiness = new Map(learning?.models.map((one) => [one.model, one.ready]));
  const noteOf = (model: string): string | undefined => {
    if (model === facts.reference) return translate('qualitative.reference');
    return readiness.get(model) === false ? translate('request-log.auto.excluded.on_trial') : undefined;
  };
  const rows = candidates
    .map((model) => ({ model, note: noteOf(model), ...scores.get(model) }))
    .sort((one, other) => (other.mean?.value ?? -1) - (one.mean?.value ?? -1));
  return tableOf(
    rows,
    {
      caption: translate('autorouter.candidates'),
      columns: [
        mixedColumn('requests.model', ({ model, note }) => ({
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
