import type { MadeDecision } from '../../quality';
import { DECISION_REASONS } from '../../routing';
import type { Cell, LabelledFigure, RowModel, TableModel, Translate } from '../../views';
import type { Localisation } from '../../web';
import type { AutorouterFacts } from './autorouter-facts';
import {
  changeText,
  costText,
  decimalText,
  durationText,
  intervalText,
  pointsText,
} from './autorouter-words';

const end = 'end' as const;

/** Models that answered, with what they cost and how long they took. */
export function modelTable({ chosen }: AutorouterFacts, localisation: Localisation): TableModel {
  const { translate } = localisation;
  const total = chosen.reduce((sum, { requests }) => sum + requests, 0);
  return {
    caption: translate('autorouter.chosen'),
    columns: [
      { label: translate('requests.model') },
      { label: translate('overview.requests'), align: end },
      { label: translate('autorouter.share'), align: end, minor: true },
      { label: translate('autorouter.mean-cost'), align: end },
      { label: translate('requests.latency'), align: end, minor: true },
      { label: translate('models.success'), align: end, minor: true },
    ],
    rows: chosen.map(({ model, requests, failures, costNano, meanLatencyMs }) => ({
      cells: [
        { kind: 'text', value: model ?? translate('autorouter.none-chosen'), heading: true },
        { kind: 'number', value: requests, align: end },
        { kind: 'percent', value: requests / total, align: end, minor: true },
        { kind: 'cost', value: costNano / BigInt(requests), align: end },
        { kind: 'latency', value: meanLatencyMs, align: end, minor: true },
        { kind: 'percent', value: 1 - failures / requests, align: end, minor: true },
      ],
    })),
    empty: { title: translate('autorouter.none-title'), text: translate('autorouter.none-text') },
  };
}

/** What each model is worth for each kind of request. */
export function bucketTable({ report }: AutorouterFacts, localisation: Localisation): TableModel {
  const { translate } = localisation;
  const few = translate('qualitative.too-few');
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
    rows: (report?.buckets ?? []).map(({ bucket, model, mean, count, cost, latencyMs }) => ({
      cells: [
        { kind: 'text', value: bucket, heading: true },
        { kind: 'text', value: model },
        { kind: 'text', value: mean === null ? few : intervalText(mean, localisation), align: end },
        { kind: 'number', value: count, align: end },
        { kind: 'text', value: cost === null ? few : costText(cost, localisation), align: end, minor: true },
        {
          kind: 'text',
          value: latencyMs === null ? few : durationText(latencyMs, localisation),
          align: end,
          minor: true,
        },
      ],
    })),
    empty: { title: translate('qualitative.none-title'), text: translate('qualitative.none-text') },
  };
}

/** How often each rule decided. */
export function reasonTable({ reasons, totals }: AutorouterFacts, { translate }: Localisation): TableModel {
  return {
    caption: translate('autorouter.reasons-of'),
    compact: true,
    columns: [
      { label: translate('autorouter.why') },
      { label: translate('overview.requests'), align: end },
      { label: translate('autorouter.share'), align: end },
    ],
    rows: reasons.map(({ reason, requests }) => ({
      cells: [
        { kind: 'text', value: reasonText(reason, translate), heading: true },
        { kind: 'number', value: requests, align: end },
        { kind: 'percent', value: requests / Math.max(1, totals.requests), align: end },
      ],
    })),
    empty: { title: translate('autorouter.latest-none'), text: translate('autorouter.none-text') },
  };
}

/** Why models were not weighed, by how often. */
export function exclusionTable({ excluded }: AutorouterFacts, { translate }: Localisation): TableModel {
  return {
    caption: translate('autorouter.excluded'),
    compact: true,
    columns: [
      { label: translate('autorouter.excluded-why') },
      { label: translate('autorouter.excluded-times'), align: end },
    ],
    rows: Object.entries(excluded).map(([reason, count]) => ({
      cells: [
        { kind: 'text', value: exclusionText(reason, translate), heading: true },
        { kind: 'number', value: count, align: end },
      ],
    })),
    empty: { title: translate('autorouter.excluded-none'), text: translate('autorouter.excluded-none-text') },
  };
}

/** Why the last requests were answered by the models that answered them. */
export function decisionTable({ latest }: AutorouterFacts, localisation: Localisation): TableModel {
  const { translate } = localisation;
  const columns = [
    { label: translate('requests.time') },
    { label: translate('requests.model') },
    { label: translate('autorouter.why') },
    { label: translate('autorouter.estimated-cost'), align: end, minor: true },
  ];
  return {
    caption: translate('autorouter.latest'),
    columns,
    rows: latest.map((decision) => decisionRow(decision, localisation)),
    hasDetail: true,
    span: columns.length + 1,
    empty: { title: translate('autorouter.latest-none'), text: translate('autorouter.none-text') },
  };
}

const reasons: ReadonlySet<string> = new Set(DECISION_REASONS);

const reasonText = (reason: string, translate: Translate): string =>
  translate(`autorouter.reasons.${reasons.has(reason) ? reason : 'fallback'}`);

/** In words, as a sentence of its own; a reason that a newer node wrote stays as it is. */
function exclusionText(reason: string, translate: Translate): string {
  const key = `autorouter.exclusions.${reason}`;
  const text = translate(key);
  return text === key ? reason : text;
}

function decisionRow(decision: MadeDecision, localisation: Localisation): RowModel {
  const { translate } = localisation;
  const { requestId, createdAt, chosen, reason, costRatio } = decision;
  const why = reasonText(reason, translate);
  const cost: Cell = {
    kind: 'text',
    value: costRatio === null ? '–' : changeText(costRatio, localisation),
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
      href: requestHref(requestId),
      items: detailsOf(decision, localisation),
    },
  };
}

const requestHref = (requestId: string): string =>
  `/dashboard/request-log?request_id=${requestId}&open=${requestId}`;

function detailsOf(
  { candidates, excluded, ...decision }: MadeDecision,
  localisation: Localisation,
): LabelledFigure[] {
  const { translate } = localisation;
  const text = (label: string, value: string | null): LabelledFigure[] =>
    value === null || value === '' ? [] : [{ label, figure: { kind: 'text', value } }];
  const left = Object.entries(excluded).map(
    ([reason, count]) => `${exclusionText(reason, translate)} (${count})`,
  );
  return [
    ...text(translate('qualitative.bucket'), decision.bucket),
    ...text(translate('qualitative.reference'), decision.reference),
    ...candidates.flatMap(({ model, q, lo, hi, u }) =>
      text(
        model,
        translate('autorouter.candidate', {
          quality: pointsText({ value: q, low: lo ?? q, high: hi ?? q }, localisation),
          utility: decimalText(u * 100, localisation),
        }),
      ),
    ),
    ...text(translate('autorouter.left-out'), left.join('; ')),
    {
      label: translate('activity.page.request'),
      figure: { kind: 'link', value: decision.requestId, href: requestHref(decision.requestId) },
    },
  ];
}
