import { toCell, type LoggedRequest } from '../../audit';
import type { AutoDecision } from '../../autorouter';
import { completionTokens, promptTokens } from '../../kernel';
import {
  type BadgeModel,
  column,
  type TableColumn,
  type Figure,
  type HopModel,
  type LabelledFigure,
  mixedColumn,
  type RowDetail,
  type TimelineModel,
} from '../../views';
import { addressOf, type HttpRequest, type Localisation, pathOf, queryOf } from '../../web';
import type { RetentionText } from './retention-text';
import type { ThumbsLookup } from './own-thumbs';
import { autoItems } from './auto-items';
import { gateItems } from './gate-items';
import type { OptionalColumn } from './request-log.dto';

interface RequestRowContext {
  readonly request: HttpRequest;
  readonly open: string | undefined;
  readonly thumbs: ThumbsLookup;
  readonly texts: RetentionText;
  readonly localisation: Localisation;
}

export const columnsOf = (
  selected: readonly OptionalColumn[],
  localisation: Localisation,
): TableColumn<LoggedRequest>[] => [
  column('request-log.time', 'time', ({ createdAt }) => createdAt),
  column('request-log.status', 'badge', (entry) => statusBadge(entry, localisation), 'minor'),
  column('request-log.model', 'text', ({ servedModel, model }) => servedModel ?? model ?? '–', 'heading'),
  column('request-log.key', 'text', ({ keyName, keyId }) => keyName ?? idText(keyId) ?? '–', 'minor'),
  mixedColumn('request-log.route', routeOf, 'minor'),
  column('request-log.input', 'compact', (entry) => ifServed(entry, promptTokens), 'minor'),
  column('request-log.output', 'compact', (entry) => ifServed(entry, completionTokens), 'minor'),
  column('request-log.cost', 'cost', ({ costNano }) => costNano),
  column('request-log.latency', 'latency', ({ latencyMs }) => latencyMs, 'minor'),
  ...selected.map((name) => optionalColumnFactories[name](`request-log.${name}`, localisation)),
];

const ifServed = (entry: LoggedRequest, count: (entry: LoggedRequest) => number): number | null =>
  entry.servedModel === null ? null : count(entry);

const textColumn =
  (value: (entry: LoggedRequest, localisation: Localisation) => string | null | undefined) =>
  (label: string, localisation: Localisation): TableColumn<LoggedRequest> =>
    column(label, 'text', (entry) => value(entry, localisation) ?? '–', 'minor');

const optionalColumnFactories: Readonly<
  Record<OptionalColumn, (label: string, localisation: Localisation) => TableColumn<LoggedRequest>>
> = {
  request_id: (label) => column(label, 'copy', ({ requestId }) => requestId, 'minor'),
  client_request_id: textColumn(({ clientRequestId }) => clientRequestId),
  session: textColumn(({ sessionKey }) => sessionKey),
  user: textColumn(({ userName }) => userName),
  end_user: textColumn(({ endUser }) => endUser),
  tags: textColumn(({ tags }) => tags?.join(', ')),
  cached: (label) => column(label, 'compact', ({ cacheReadTokens }) => cacheReadTokens, 'minor'),
  'first-token': (label) => column(label, 'latency', ({ firstTokenMs }) => firstTokenMs, 'minor'),
  stream: textColumn(({ stream }, { translate }) =>
    translate(stream ? 'request-log.stream-yes' : 'request-log.stream-no'),
  ),
  finish: textColumn(({ finishReason }) => finishReason),
};

const text = (value: string | null): Figure => ({ kind: 'text', value: value ?? '–' });

export function detailOf(
  entry: LoggedRequest,
  { request, open, thumbs, texts, localisation }: RequestRowContext,
): RowDetail {
  const id = `request-${entry.requestId}`;
  const thumbsModel = thumbs(entry);
  return {
    id,
    name: `${entry.model ?? ''} ${entry.requestId}`,
    href: `${addressOf(pathOf(request), queryOf(request), { open: entry.requestId })}#${id}`,
    open: open === entry.requestId,
    items: itemsOf(entry, texts, localisation),
    ...(attemptsOf(entry).length === 0 ? {} : { timeline: timelineOf(entry) }),
    ...(thumbsModel === undefined ? {} : { thumbs: thumbsModel }),
  };
}

const idText = (id: number | null): string | null => (id === null ? null : String(id));

function statusBadge({ status, code, failover }: LoggedRequest, { translate }: Localisation): BadgeModel {
  if (code !== null || status >= 400)
    return { tone: status >= 500 ? 'bad' : 'warn', label: code ?? String(status) };
  if (failover) return { tone: 'warn', label: `${status} · ${translate('request-log.failed-over')}` };
  return { tone: 'ok', label: String(status) };
}

type RequestAttempt = NonNullable<LoggedRequest['attempts']>[number];

const isServing = ({ outcome }: RequestAttempt): boolean => outcome === 'answered' || outcome === 'served';

/** A request with a single attempt stores no list, so the attempt is derived from the request. */
function attemptsOf(entry: LoggedRequest): readonly RequestAttempt[] {
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
  const hops = attempts.map((attempt): HopModel => ({
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

function itemsOf(entry: LoggedRequest, texts: RetentionText, localisation: Localisation): LabelledFigure[] {
  const { translate } = localisation;
  const item = (name: string, figure: Figure): LabelledFigure => ({
    label: translate(`request-log.${name}`),
    figure,
  });
  const optionalItem = (name: string, value: string | null): LabelledFigure[] =>
    value === null ? [] : [item(name, { kind: 'text', value })];
  const seconds = (entry.latencyMs - (entry.firstTokenMs ?? 0)) / 1_000;
  const speed = entry.stream && seconds > 0 ? completionTokens(entry) / seconds : null;
  const dropped = Object.entries(entry.dropped ?? {}).map(([name, count]) => `${name} × ${count}`);
  return [
    item('request_id', { kind: 'copy', value: entry.requestId }),
    ...optionalItem('client_request_id', entry.clientRequestId),
    ...optionalItem('code', entry.code),
    ...optionalItem('key', entry.keyName ?? idText(entry.keyId)),
    ...optionalItem('user', entry.userName),
    ...optionalItem('surface', entry.surface),
    ...optionalItem('requested_model', entry.model),
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
    ...optionalItem('finish', entry.finishReason),
    ...optionalItem('session', entry.sessionKey),
    ...optionalItem('end_user', entry.endUser),
    ...optionalItem('tags', entry.tags?.join(', ') ?? null),
    ...optionalItem('usage-source', entry.usageSource === 'none' ? null : entry.usageSource),
    ...optionalItem('price', idText(entry.priceId)),
    ...(entry.surcharges ?? []).map(({ name, cost_nano: nano }) => ({
      label: translate('request-log.fee', { name }),
      figure: nano === undefined ? text(null) : ({ kind: 'cost', value: BigInt(nano) } as const),
    })),
    ...optionalItem('excess', entry.excess === null ? null : String(toCell(entry.excess))),
    item('settled', { kind: 'time', value: entry.settledAt }),
    ...optionalItem('dropped', dropped.length === 0 ? null : dropped.join(', ')),
    item('content', text(texts(entry))),
  ];
}
