import { cellIn, type LoggedRequest } from '../../audit';
import type { AutoDecision } from '../../autorouter';
import { completionTokens, promptTokens } from '../../kernel';
import {
  type BadgeModel,
  column,
  type Column,
  type Figure,
  type Hop,
  type LabelledFigure,
  mixed,
  type RowDetail,
  type TimelineModel,
} from '../../views';
import { addressOf, type HttpRequest, type Localisation, pathOf, queryOf } from '../../web';
import type { KeptTexts } from './kept-texts';
import type { Thumbs } from './own-thumbs';
import { autoItems } from './auto-items';
import { gateItems } from './gate-items';
import type { OptionalColumn } from './request-log.form';

interface RowSurroundings {
  readonly request: HttpRequest;
  readonly open: string | undefined;
  readonly thumbs: Thumbs;
  readonly texts: KeptTexts;
  readonly localisation: Localisation;
}

/** The columns of the log: the usual ones, and those that its reader has chosen. */
export const columnsOf = (
  shown: readonly OptionalColumn[],
  localisation: Localisation,
): Column<LoggedRequest>[] => [
  column('request-log.time', 'time', ({ createdAt }) => createdAt),
  column('request-log.status', 'badge', (entry) => statusBadge(entry, localisation), 'minor'),
  column('request-log.model', 'text', ({ servedModel, model }) => servedModel ?? model ?? '–', 'heading'),
  column('request-log.key', 'text', ({ keyName, keyId }) => keyName ?? idText(keyId) ?? '–', 'minor'),
  mixed('request-log.route', routeOf, 'minor'),
  column('request-log.input', 'compact', (entry) => ifServed(entry, promptTokens), 'minor'),
  column('request-log.output', 'compact', (entry) => ifServed(entry, completionTokens), 'minor'),
  column('request-log.cost', 'cost', ({ costNano }) => costNano),
  column('request-log.latency', 'latency', ({ latencyMs }) => latencyMs, 'minor'),
  ...shown.map((name) => optional[name](`request-log.${name}`, localisation)),
];

const ifServed = (entry: LoggedRequest, count: (entry: LoggedRequest) => number): number | null =>
  entry.servedModel === null ? null : count(entry);

const words =
  (value: (entry: LoggedRequest, localisation: Localisation) => string | null | undefined) =>
  (label: string, localisation: Localisation): Column<LoggedRequest> =>
    column(label, 'text', (entry) => value(entry, localisation) ?? '–', 'minor');

const optional: Readonly<
  Record<OptionalColumn, (label: string, localisation: Localisation) => Column<LoggedRequest>>
> = {
  request_id: (label) => column(label, 'copy', ({ requestId }) => requestId, 'minor'),
  client_request_id: words(({ clientRequestId }) => clientRequestId),
  session: words(({ sessionKey }) => sessionKey),
  user: words(({ userName }) => userName),
  end_user: words(({ endUser }) => endUser),
  tags: words(({ tags }) => tags?.join(', ')),
  cached: (label) => column(label, 'compact', ({ cacheReadTokens }) => cacheReadTokens, 'minor'),
  'first-token': (label) => column(label, 'latency', ({ firstTokenMs }) => firstTokenMs, 'minor'),
  stream: words(({ stream }, { translate }) =>
    translate(stream ? 'request-log.stream-yes' : 'request-log.stream-no'),
  ),
  finish: words(({ finishReason }) => finishReason),
};

const text = (value: string | null): Figure => ({ kind: 'text', value: value ?? '–' });

export function detailOf(
  entry: LoggedRequest,
  { request, open, thumbs, texts, localisation }: RowSurroundings,
): RowDetail {
  const id = `request-${entry.requestId}`;
  const judged = thumbs(entry);
  return {
    id,
    name: `${entry.model ?? ''} ${entry.requestId}`,
    href: `${addressOf(pathOf(request), queryOf(request), { open: entry.requestId })}#${id}`,
    open: open === entry.requestId,
    items: itemsOf(entry, texts, localisation),
    ...(attemptsOf(entry).length === 0 ? {} : { timeline: timelineOf(entry) }),
    ...(judged === undefined ? {} : { thumbs: judged }),
  };
}

const idText = (id: number | null): string | null => (id === null ? null : String(id));

function statusBadge({ status, code, failover }: LoggedRequest, { translate }: Localisation): BadgeModel {
  if (code !== null || status >= 400)
    return { tone: status >= 500 ? 'bad' : 'warn', label: code ?? String(status) };
  if (failover) return { tone: 'warn', label: `${status} · ${translate('request-log.failed-over')}` };
  return { tone: 'ok', label: String(status) };
}

type Attempt = NonNullable<LoggedRequest['attempts']>[number];

const isServing = ({ outcome }: Attempt): boolean => outcome === 'answered' || outcome === 'served';

/** A request with one try keeps no list of tries: it is its own. */
function attemptsOf(entry: LoggedRequest): readonly Attempt[] {
  if (entry.attempts !== null && entry.attempts.length > 0) return entry.attempts;
  if (entry.supplier === null) return [];
  return [
    {
      supplier: entry.supplier,
      region: entry.region,
      model: entry.servedModel ?? entry.model ?? '',
      status: entry.status,
      milliseconds: entry.latencyMs,
      outcome: entry.code ?? 'answered',
    },
  ];
}

function routeOf(entry: LoggedRequest): Figure {
  const attempts = attemptsOf(entry);
  if (attempts.length === 0) return text(null);
  const hops = attempts.map((attempt): Hop => ({
    supplier: attempt.supplier,
    ...(attempt.region === null ? {} : { region: attempt.region }),
    ...(isServing(attempt)
      ? { outcome: 'served' }
      : { outcome: 'failed', reason: attempt.status === null ? attempt.outcome : String(attempt.status) }),
  }));
  return { kind: 'route', value: { hops } };
}

function timelineOf(entry: LoggedRequest): TimelineModel {
  return {
    items: attemptsOf(entry).map((attempt) => ({
      title: [attempt.supplier, attempt.region, attempt.model].filter((part) => part !== null).join(' · '),
      tone: isServing(attempt) ? 'ok' : 'bad',
      badge: {
        tone: isServing(attempt) ? 'ok' : 'bad',
        label: [attempt.status, isServing(attempt) ? null : attempt.outcome]
          .filter((part) => part !== null)
          .join(' '),
      },
      figure: { kind: 'latency', value: attempt.milliseconds },
    })),
  };
}

function itemsOf(entry: LoggedRequest, texts: KeptTexts, localisation: Localisation): LabelledFigure[] {
  const { translate } = localisation;
  const item = (name: string, figure: Figure): LabelledFigure => ({
    label: translate(`request-log.${name}`),
    figure,
  });
  const given = (name: string, value: string | null): LabelledFigure[] =>
    value === null ? [] : [item(name, { kind: 'text', value })];
  const seconds = (entry.latencyMs - (entry.firstTokenMs ?? 0)) / 1_000;
  const speed = entry.stream && seconds > 0 ? completionTokens(entry) / seconds : null;
  const dropped = Object.entries(entry.dropped ?? {}).map(([name, count]) => `${name} × ${count}`);
  return [
    item('request_id', { kind: 'copy', value: entry.requestId }),
    ...given('client_request_id', entry.clientRequestId),
    ...given('code', entry.code),
    ...given('key', entry.keyName ?? idText(entry.keyId)),
    ...given('user', entry.userName),
    ...given('surface', entry.surface),
    ...given('requested_model', entry.model),
    item('tokens', {
      kind: 'text',
      value: [
        entry.inputTokens,
        entry.cacheReadTokens,
        entry.cacheWriteTokens + entry.cacheWriteLongTokens,
        entry.outputTokens,
        entry.reasoningTokens,
      ].join(' · '),
    }),
    ...autoItems(entry.autoDecision as AutoDecision | null, localisation),
    ...gateItems(entry.gates, localisation),
    item('latency', { kind: 'latency', value: entry.latencyMs }),
    item('first-token', { kind: 'latency', value: entry.firstTokenMs }),
    ...(speed === null ? [] : [item('speed', { kind: 'number', value: Math.round(speed * 10) / 10 })]),
    item('stream', text(translate(entry.stream ? 'request-log.stream-yes' : 'request-log.stream-no'))),
    ...given('finish', entry.finishReason),
    ...given('session', entry.sessionKey),
    ...given('end_user', entry.endUser),
    ...given('tags', entry.tags?.join(', ') ?? null),
    ...given('usage-source', entry.usageSource === 'none' ? null : entry.usageSource),
    ...given('price', idText(entry.priceId)),
    ...(entry.surcharges ?? []).map(({ name, cost_nano: nano }) => ({
      label: translate('request-log.fee', { name }),
      figure: nano === undefined ? text(null) : ({ kind: 'cost', value: BigInt(nano) } as const),
    })),
    ...given('excess', entry.excess === null ? null : String(cellIn(entry.excess))),
    item('settled', { kind: 'time', value: entry.settledAt }),
    ...given('dropped', dropped.length === 0 ? null : dropped.join(', ')),
    item('content', text(texts(entry))),
  ];
}
