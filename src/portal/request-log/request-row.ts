import type { LoggedRequest } from '../../audit';
import type { AutoDecision } from '../../gateway';
import { completionTokens, promptTokens } from '../../kernel';
import type {
  BadgeModel,
  Cell,
  ColumnModel,
  Figure,
  Hop,
  LabelledFigure,
  RowModel,
  TimelineModel,
} from '../../views';
import { addressOf, type HttpRequest, type Localisation, pathOf, queryOf } from '../../web';
import type { KeptTexts } from './kept-texts';
import type { Thumbs } from './own-thumbs';
import { autoItems } from './auto-items';
import type { OptionalColumn } from './request-log.form';

interface RowSurroundings {
  readonly request: HttpRequest;
  readonly open: string | undefined;
  readonly shown: readonly OptionalColumn[];
  readonly thumbs: Thumbs;
  readonly texts: KeptTexts;
  readonly localisation: Localisation;
}

const endColumn = { align: 'end', minor: true } as const;
const minorColumn = { minor: true } as const;

/** What each column is of a request, and how it stands in the table. */
export const optionalCells: Readonly<
  Record<
    OptionalColumn,
    {
      readonly column: Partial<ColumnModel>;
      readonly figure: (entry: LoggedRequest, localisation: Localisation) => Figure;
    }
  >
> = {
  request_id: { column: minorColumn, figure: ({ requestId }) => ({ kind: 'copy', value: requestId }) },
  client_request_id: { column: minorColumn, figure: ({ clientRequestId }) => text(clientRequestId) },
  session: { column: minorColumn, figure: ({ sessionKey }) => text(sessionKey) },
  user: { column: minorColumn, figure: ({ userName }) => text(userName) },
  end_user: { column: minorColumn, figure: ({ endUser }) => text(endUser) },
  tags: { column: minorColumn, figure: ({ tags }) => text(tags?.join(', ') ?? null) },
  cached: {
    column: endColumn,
    figure: ({ cacheReadTokens }) => ({ kind: 'compact', value: cacheReadTokens }),
  },
  'first-token': {
    column: endColumn,
    figure: ({ firstTokenMs }) => ({ kind: 'latency', value: firstTokenMs }),
  },
  stream: {
    column: minorColumn,
    figure: ({ stream }, { translate }) =>
      text(translate(stream ? 'request-log.stream-yes' : 'request-log.stream-no')),
  },
  finish: { column: minorColumn, figure: ({ finishReason }) => text(finishReason) },
};

const text = (value: string | null): Figure => ({ kind: 'text', value: value ?? '–' });

export function rowOf(
  entry: LoggedRequest,
  { request, open, shown, thumbs, texts, localisation }: RowSurroundings,
): RowModel {
  const isServed = entry.servedModel !== null;
  const id = `request-${entry.requestId}`;
  const judged = thumbs(entry);
  return {
    cells: [
      { kind: 'time', value: entry.createdAt },
      { kind: 'badge', value: statusBadge(entry, localisation), minor: true },
      { kind: 'text', value: entry.model ?? '–', heading: true },
      { ...text(entry.keyName ?? idText(entry.keyId)), minor: true },
      { ...routeOf(entry), minor: true },
      { kind: 'compact', value: isServed ? promptTokens(entry) : null, ...endColumn },
      { kind: 'compact', value: isServed ? completionTokens(entry) : null, ...endColumn },
      { kind: 'cost', value: entry.costNano, align: 'end' },
      { kind: 'latency', value: entry.latencyMs, ...endColumn },
      ...shown.map((name): Cell => {
        const { column, figure } = optionalCells[name];
        const { align, minor } = column;
        return { ...figure(entry, localisation), ...(align ? { align } : {}), ...(minor ? { minor } : {}) };
      }),
    ],
    detail: {
      id,
      name: `${entry.model ?? ''} ${entry.requestId}`,
      href: `${addressOf(pathOf(request), queryOf(request), { open: entry.requestId })}#${id}`,
      open: open === entry.requestId,
      items: itemsOf(entry, texts, localisation),
      ...(attemptsOf(entry).length === 0 ? {} : { timeline: timelineOf(entry) }),
      ...(judged === undefined ? {} : { thumbs: judged }),
    },
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
    ...given('served-as', entry.servedModel),
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
    item('settled', { kind: 'time', value: entry.settledAt }),
    ...given('dropped', dropped.length === 0 ? null : dropped.join(', ')),
    item('content', text(texts(entry))),
  ];
}
