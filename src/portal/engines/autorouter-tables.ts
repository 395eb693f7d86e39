import type { MadeDecision } from '../../quality';
import { DECISION_REASONS } from '../../routing';
import type { Cell, LabelledFigure, RowModel, TableModel } from '../../views';
import type { Looks } from '../lists/looks';
import type { AutorouterFacts } from './autorouter-facts';
import { changeText, intervalText } from './quality/report-model';

const end = 'end' as const;

/** Models that answered, with what they cost and how they were scored. */
export function modelTable({ chosen, report }: AutorouterFacts, looks: Looks): TableModel {
  const { translate } = looks;
  const total = chosen.reduce((sum, { requests }) => sum + requests, 0);
  const scores = new Map(report?.models.map((model) => [model.model, model]));
  return {
    caption: translate('autorouter.chosen'),
    columns: [
      { label: translate('requests.model') },
      { label: translate('overview.requests'), align: end },
      { label: translate('autorouter.share'), align: end, minor: true },
      { label: translate('autorouter.mean-cost'), align: end },
      { label: translate('qualitative.mean'), align: end },
      { label: translate('requests.latency'), align: end, minor: true },
      { label: translate('models.success'), align: end, minor: true },
    ],
    rows: chosen.map(({ model, requests, failures, costNano, meanLatencyMs }) => {
      const mean = scores.get(model ?? '')?.mean ?? null;
      return {
        cells: [
          { kind: 'text', value: model ?? translate('autorouter.none-chosen'), heading: true },
          { kind: 'number', value: requests, align: end },
          { kind: 'percent', value: requests / total, align: end, minor: true },
          { kind: 'cost', value: costNano / BigInt(requests), align: end },
          {
            kind: 'text',
            value: mean === null ? translate('qualitative.too-few') : intervalText(mean, looks),
            align: end,
          },
          { kind: 'latency', value: meanLatencyMs, align: end, minor: true },
          { kind: 'percent', value: 1 - failures / requests, align: end, minor: true },
        ],
      };
    }),
    empty: { title: translate('autorouter.none-title'), text: translate('autorouter.none-text') },
  };
}

/** What each model is worth for each kind of request. */
export function bucketTable({ report }: AutorouterFacts, looks: Looks): TableModel {
  const { translate } = looks;
  return {
    caption: translate('autorouter.buckets'),
    columns: [
      { label: translate('qualitative.bucket') },
      { label: translate('requests.model') },
      { label: translate('qualitative.mean'), align: end },
      { label: translate('qualitative.answers'), align: end },
      { label: translate('autorouter.mean-cost'), align: end, minor: true },
      { label: translate('requests.latency'), align: end, minor: true },
    ],
    rows: (report?.buckets ?? []).map(({ bucket, model, mean, count, meanCostNano, meanLatencyMs }) => ({
      cells: [
        { kind: 'text', value: bucket, heading: true },
        { kind: 'text', value: model },
        {
          kind: 'text',
          value: mean === null ? translate('qualitative.too-few') : intervalText(mean, looks),
          align: end,
        },
        { kind: 'number', value: count, align: end },
        { kind: 'cost', value: BigInt(Math.round(meanCostNano)), align: end, minor: true },
        { kind: 'latency', value: meanLatencyMs, align: end, minor: true },
      ],
    })),
    empty: { title: translate('qualitative.none-title'), text: translate('qualitative.none-text') },
  };
}

/** Why the last requests were answered by the models that answered them. */
export function decisionTable({ latest }: AutorouterFacts, looks: Looks): TableModel {
  const { translate } = looks;
  const columns = [
    { label: translate('requests.time') },
    { label: translate('requests.model') },
    { label: translate('autorouter.why') },
    { label: translate('autorouter.estimated-cost'), align: end, minor: true },
  ];
  return {
    caption: translate('autorouter.latest'),
    columns,
    rows: latest.map((decision) => decisionRow(decision, looks)),
    hasDetail: true,
    span: columns.length + 1,
    empty: { title: translate('autorouter.latest-none'), text: translate('autorouter.none-text') },
  };
}

const reasons: ReadonlySet<string> = new Set(DECISION_REASONS);

function decisionRow(decision: MadeDecision, looks: Looks): RowModel {
  const { translate } = looks;
  const { requestId, createdAt, chosen, reason, costRatio } = decision;
  const why = translate(`autorouter.reasons.${reasons.has(reason) ? reason : 'fallback'}`);
  const cost: Cell = {
    kind: 'text',
    value: costRatio === null ? '–' : changeText(costRatio, looks),
    align: end,
    minor: true,
  };
  return {
    cells: [
      { kind: 'time', value: createdAt },
      { kind: 'text', value: chosen, heading: true },
      { kind: 'text', value: why },
      cost,
    ],
    detail: {
      id: `decision-${requestId}`,
      name: `${chosen}: ${why}`,
      href: `/dashboard/request-log?request_id=${requestId}`,
      items: detailsOf(decision, looks),
    },
  };
}

function detailsOf({ candidates, excluded, ...decision }: MadeDecision, looks: Looks): LabelledFigure[] {
  const { translate, locale } = looks;
  const number = new Intl.NumberFormat(locale, { maximumFractionDigits: 3 });
  const text = (label: string, value: string | null): LabelledFigure[] =>
    value === null || value === '' ? [] : [{ label, figure: { kind: 'text', value } }];
  return [
    ...text(translate('qualitative.bucket'), decision.bucket),
    ...text(translate('qualitative.reference'), decision.reference),
    ...candidates.flatMap(({ model, q, u }) =>
      text(
        model,
        translate('autorouter.candidate', { quality: number.format(q), utility: number.format(u) }),
      ),
    ),
    ...Object.entries(excluded).flatMap(([reason, count]) =>
      text(translate('autorouter.excluded-by', { reason }), String(count)),
    ),
    { label: translate('activity.page.request'), figure: { kind: 'copy', value: decision.requestId } },
  ];
}
