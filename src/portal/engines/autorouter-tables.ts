import { DECISION_REASONS, type LoggedDecision } from '../../autorouter';
import {
  column,
  type LabelledFigure,
  type RowDetail,
  type TableModel,
  tableOf,
  type Translate,
} from '../../views';
import type { Localisation } from '../../web';
import type { AutorouterData } from './autorouter-data';
import {
  changeText,
  costText,
  decimalText,
  durationText,
  intervalColumn,
  intervalText,
  pointsText,
} from './autorouter-text';

export function modelTable({ chosen }: AutorouterData, localisation: Localisation): TableModel {
  const { translate } = localisation;
  const total = chosen.reduce((sum, { requests }) => sum + requests, 0);
  return tableOf(
    chosen,
    {
      caption: translate('autorouter.chosen'),
      columns: [
        column('requests.model', 'text', ({ model }) => model ?? translate('autorouter.none-chosen')),
        column('overview.requests', 'number', ({ requests }) => requests),
        column('autorouter.share', 'percent', ({ requests }) => requests / total, 'minor'),
        column('autorouter.mean-cost', 'cost', ({ costNano, requests }) => costNano / BigInt(requests)),
        column('requests.latency', 'latency', ({ meanLatencyMs }) => meanLatencyMs, 'minor'),
        column('models.success', 'percent', ({ failures, requests }) => 1 - failures / requests, 'minor'),
      ],
      empty: { title: translate('autorouter.none-title'), text: translate('autorouter.none-text') },
    },
    translate,
  );
}

export function bucketTable({ report }: AutorouterData, localisation: Localisation): TableModel {
  const { translate } = localisation;
  return tableOf(
    report?.buckets ?? [],
    {
      caption: translate('autorouter.buckets'),
      columns: [
        column('qualitative.bucket', 'text', ({ bucket }) => bucket),
        column('requests.model', 'text', ({ model }) => model),
        intervalColumn('qualitative.mean', ({ mean }) => mean, intervalText, localisation),
        column('qualitative.answers', 'number', ({ count }) => count),
        intervalColumn('autorouter.mean-cost', ({ cost }) => cost, costText, localisation, 'minor'),
        intervalColumn('requests.latency', ({ latencyMs }) => latencyMs, durationText, localisation, 'minor'),
      ],
      empty: { title: translate('qualitative.none-title'), text: translate('qualitative.none-text') },
    },
    translate,
  );
}

export function reasonTable({ reasons, totals }: AutorouterData, { translate }: Localisation): TableModel {
  return tableOf(
    reasons,
    {
      caption: translate('autorouter.reasons-of'),
      compact: true,
      columns: [
        column('autorouter.why', 'text', ({ reason }) => reasonText(reason, translate)),
        column('overview.requests', 'number', ({ requests }) => requests),
        column('autorouter.share', 'percent', ({ requests }) => requests / Math.max(1, totals.requests)),
      ],
      empty: { title: translate('autorouter.latest-none'), text: translate('autorouter.none-text') },
    },
    translate,
  );
}

export function exclusionTable({ excluded }: AutorouterData, { translate }: Localisation): TableModel {
  return tableOf(
    Object.entries(excluded),
    {
      caption: translate('autorouter.excluded'),
      compact: true,
      columns: [
        column('autorouter.excluded-why', 'text', ([reason]) => exclusionText(reason, translate)),
        column('autorouter.excluded-times', 'number', ([, count]) => count),
      ],
      empty: {
        title: translate('autorouter.excluded-none'),
        text: translate('autorouter.excluded-none-text'),
      },
    },
    translate,
  );
}

export function decisionTable({ latest }: AutorouterData, localisation: Localisation): TableModel {
  const { translate } = localisation;
  return tableOf(
    latest,
    {
      caption: translate('autorouter.latest'),
      columns: [
        column('requests.time', 'time', ({ createdAt }) => createdAt),
        column('requests.model', 'text', ({ chosen }) => chosen, 'heading'),
        column('autorouter.why', 'text', ({ reason }) => reasonText(reason, translate)),
        column(
          'autorouter.estimated-cost',
          'text',
          ({ costRatio }) => (costRatio === null ? '–' : changeText(costRatio, localisation)),
          'end',
          'minor',
        ),
      ],
      row: (decision) => ({ detail: decisionDetail(decision, localisation) }),
      empty: { title: translate('autorouter.latest-none'), text: translate('autorouter.none-text') },
    },
    translate,
  );
}

const reasons: ReadonlySet<string> = new Set(DECISION_REASONS);

const reasonText = (reason: string, translate: Translate): string =>
  translate(`autorouter.reasons.${reasons.has(reason) ? reason : 'fallback'}`);

/** Describes an exclusion; an unknown reason from a newer node is shown as it is. */
function exclusionText(reason: string, translate: Translate): string {
  const key = `autorouter.exclusions.${reason}`;
  const text = translate(key);
  return text === key ? reason : text;
}

function decisionDetail(decision: LoggedDecision, localisation: Localisation): RowDetail {
  const { requestId, chosen, reason } = decision;
  return {
    id: `decision-${requestId}`,
    name: `${chosen}: ${reasonText(reason, localisation.translate)}`,
    href: requestHref(requestId),
    items: decisionFigures(decision, localisation),
  };
}

const requestHref = (requestId: string): string =>
  `/dashboard/request-log?request_id=${requestId}&open=${requestId}`;

function decisionFigures(
  { candidates, excluded, ...decision }: LoggedDecision,
  localisation: Localisation,
): LabelledFigure[] {
  const { translate } = localisation;
  const text = (label: string, value: string | null): LabelledFigure[] =>
    value === null || value === '' ? [] : [{ label, figure: { kind: 'text', value } }];
  const exclusions = Object.entries(excluded).map(
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
    ...text(translate('autorouter.left-out'), exclusions.join('; ')),
    {
      label: translate('activity.page.request'),
      figure: { kind: 'link', value: decision.requestId, href: requestHref(decision.requestId) },
    },
  ];
}
