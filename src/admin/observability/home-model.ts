import {
  type BannerModel,
  barChart,
  type ChartModel,
  column,
  formatNumber,
  type Locale,
  type PeriodPickerModel,
  type TableModel,
  tableOf,
  type TileModel,
  type Tone,
  type Translate,
} from '../../views';
import { adminScope, type HttpRequest, periodLabel, periodWords, scopeWords } from '../../web';
import type { OpenAlertsCard } from '../alerts/open-alerts';
import type { BackupCard } from './backup-card';
import { isByDay, nameOf, periods } from './periods';
import type { Incident } from './incidents/incident-log';
import type { ProviderStanding, TrafficAnswer, TrafficFigures, TrafficStep } from './traffic';

export interface HomeShown {
  readonly request: HttpRequest;
  readonly hours: number;
  /** The address where providers are managed; null where this installation does not serve it. */
  readonly catalogueHref: string | null;
  readonly banners: readonly BannerModel[];
  readonly alerts: OpenAlertsCard;
  readonly backups: BackupCard | null;
  readonly locale: Locale;
  readonly timeZone: string;
  readonly translate: Translate;
}

export interface HomePageModel {
  readonly scope: string;
  readonly href: string;
  readonly period: PeriodPickerModel;
  readonly tiles: readonly TileModel[];
  readonly chart: ChartModel;
  readonly alerts: OpenAlertsCard;
  readonly incidents: TableModel | null;
  readonly providers: TableModel | null;
  readonly updatedAt: Date;
  /** A quarantine, breaks of the audit chain, backups that fail; they are for the platform's administrators. */
  readonly banners: readonly BannerModel[];
  readonly backups: BackupCard | null;
}

const path = '/dashboard/admin';

export function homeModel(answer: TrafficAnswer, shown: HomeShown): HomePageModel {
  const { request, hours, timeZone, translate } = shown;
  return {
    scope: `${periodWords(answer, shown, nameOf(hours))} · ${scopeWords(request, translate, adminScope(request))}`,
    href: `${path}?hours=${hours}`,
    period: {
      options: periods.map((each) => ({
        label: periodLabel(nameOf(each), translate),
        href: `${path}?hours=${each}`,
        ...(each === hours ? { current: true } : {}),
      })),
      zone: timeZone,
    },
    tiles: tilesOf(answer.total, translate),
    chart: chartOf(answer.steps, shown),
    alerts: shown.alerts,
    incidents: answer.incidents && incidentTable(answer.incidents, translate),
    providers: answer.providers && providerTable(answer.providers, shown),
    updatedAt: answer.to,
    banners: shown.banners,
    backups: shown.backups,
  };
}

const share = (part: number, whole: number): number | null => (whole === 0 ? null : part / whole);

function tilesOf(total: TrafficFigures, translate: Translate): TileModel[] {
  const { requests, failures, failovers } = total;
  const label = (name: string): string => translate(`operations.${name}`);
  const ofAll = (count: number): string => translate('operations.of-requests', { count });
  return [
    { label: label('requests'), figure: { kind: 'compact', value: requests } },
    {
      label: label('failure-rate'),
      figure: { kind: 'percent', value: share(failures, requests) },
      note: ofAll(failures),
    },
    {
      label: label('failover-rate'),
      figure: { kind: 'percent', value: share(failovers, requests) },
      note: ofAll(failovers),
    },
    { label: label('latency'), figure: { kind: 'latency', value: total.mean_latency_ms } },
    { label: label('first-token'), figure: { kind: 'latency', value: total.mean_first_token_ms } },
    { label: label('cost'), figure: { kind: 'money', value: total.cost_usd.toFixed(9) } },
  ];
}

function chartOf(
  steps: readonly TrafficStep[],
  { hours, locale, timeZone, translate }: HomeShown,
): ChartModel {
  const isInDays = isByDay(nameOf(hours));
  const label = new Intl.DateTimeFormat(locale, {
    timeZone,
    ...(isInDays
      ? { day: 'numeric', month: 'short' }
      : { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }),
  });
  return barChart({
    title: translate('operations.traffic'),
    labels: steps.map(({ begins }) => label.format(begins)),
    series: [
      {
        name: translate('operations.succeeded'),
        values: steps.map(({ requests, failures }) => requests - failures),
        slot: 1,
      },
      { name: translate('operations.failed'), values: steps.map(({ failures }) => failures), slot: 6 },
    ],
    format: (value) => formatNumber(locale, value),
    totalLabel: translate('list.total'),
    pointLabel: translate(isInDays ? 'activity.page.day' : 'operations.hour'),
  });
}

function incidentTable(incidents: readonly Incident[], translate: Translate): TableModel {
  const text = (name: string): string => translate(`operations.${name}`);
  return tableOf(
    incidents,
    {
      caption: text('incidents'),
      columns: [
        column('operations.incident', 'text', (incident) => subjectOf(incident, translate)),
        column('operations.state', 'badge', ({ endedAt }) =>
          endedAt === null
            ? { tone: 'bad', label: text('under-way') }
            : { tone: 'neutral', label: text('over') },
        ),
        column('operations.begun', 'time', ({ startedAt }) => startedAt),
        column('operations.ended', 'time', ({ endedAt }) => endedAt, 'minor'),
        column(
          'operations.cause',
          'text',
          ({ cause, status }) => (status === null ? cause : `${cause} · ${status}`),
          'minor',
        ),
      ],
      empty: { title: text('no-incidents-title'), text: text('no-incidents-text') },
    },
    translate,
  );
}

function subjectOf({ kind, provider, model, region, credential }: Incident, translate: Translate): string {
  const subject = [provider, model, region, credential].filter((part) => part !== '').join(' · ');
  const what = translate(`operations.kinds.${kind}`);
  return subject === '' ? what : `${what}: ${subject}`;
}

const circuitTones: Readonly<Record<ProviderStanding['circuit'], Tone>> = {
  closed: 'ok',
  'half-open': 'warn',
  open: 'bad',
  unused: 'neutral',
};
const credentialTones: Readonly<Record<ProviderStanding['credential'], Tone>> = {
  ready: 'ok',
  missing: 'warn',
  'not-needed': 'neutral',
  unreadable: 'bad',
};

function providerTable(
  providers: readonly ProviderStanding[],
  { catalogueHref, translate }: HomeShown,
): TableModel {
  const text = (name: string): string => translate(`operations.${name}`);
  return tableOf(
    providers,
    {
      caption: text('providers'),
      columns: [
        column('operations.provider', 'text', ({ provider }) => provider),
        column('operations.circuit', 'badge', ({ circuit, lanes }) => ({
          tone: circuitTones[circuit],
          label: circuitText(circuit, lanes, translate),
        })),
        column('operations.requests', 'compact', ({ traffic }) => traffic.requests),
        column('operations.failure-rate', 'percent', ({ traffic }) =>
          share(traffic.failures, traffic.requests),
        ),
        column(
          'operations.pool',
          'text',
          ({ pool }) => (pool === null ? '–' : `${pool.usable} / ${pool.pool_size}`),
          'end',
          'minor',
        ),
        column(
          'operations.credential',
          'badge',
          ({ credential }) => ({
            tone: credentialTones[credential],
            label: text(`credentials.${credential}`),
          }),
          'minor',
        ),
      ],
      row: ({ provider }) =>
        catalogueHref === null
          ? {}
          : { href: `${catalogueHref}?${new URLSearchParams({ tab: 'providers', q: provider }).toString()}` },
      empty: { title: text('no-providers-title'), text: text('no-providers-text') },
    },
    translate,
  );
}

/** The text counts the lanes that are passed over, where not all of them are well. */
function circuitText(
  circuit: ProviderStanding['circuit'],
  lanes: ProviderStanding['lanes'],
  translate: Translate,
): string {
  const words = translate(`operations.circuits.${circuit}`);
  const open = lanes.filter(({ state }) => state !== 'closed').length;
  return open === 0 ? words : `${words} · ${open} / ${lanes.length}`;
}
