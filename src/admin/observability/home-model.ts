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
import { adminScope, type HttpRequest, periodLabel, describePeriod, describeScope } from '../../web';
import type { OpenAlertsCard } from '../alerts/open-alerts';
import type { BackupCard } from './backup-card';
import { isByDay, periodNameOf, periods } from './periods';
import type { Incident } from './incidents/incident-log';
import type { ProviderStatus, TrafficReport, TrafficFigures, TrafficStep } from './traffic';

export interface HomeContext {
  readonly request: HttpRequest;
  readonly hours: number;
  /** Address where providers are managed; null if this installation does not serve it. */
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
  readonly banners: readonly BannerModel[];
  readonly backups: BackupCard | null;
}

const PATH = '/dashboard/admin';

export function homeModel(report: TrafficReport, context: HomeContext): HomePageModel {
  const { request, hours, timeZone, translate } = context;
  return {
    scope: `${describePeriod(report, context, periodNameOf(hours))} · ${describeScope(request, translate, adminScope(request))}`,
    href: `${PATH}?hours=${hours}`,
    period: {
      options: periods.map((each) => ({
        label: periodLabel(periodNameOf(each), translate),
        href: `${PATH}?hours=${each}`,
        ...(each === hours ? { current: true } : {}),
      })),
      zone: timeZone,
    },
    tiles: tilesOf(report.total, translate),
    chart: chartOf(report.steps, context),
    alerts: context.alerts,
    incidents: report.incidents && incidentTable(report.incidents, translate),
    providers: report.providers && providerTable(report.providers, context),
    updatedAt: report.to,
    banners: context.banners,
    backups: context.backups,
  };
}

const share = (part: number, total: number): number | null => (total === 0 ? null : part / total);

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
  { hours, locale, timeZone, translate }: HomeContext,
): ChartModel {
  const hasDailySteps = isByDay(periodNameOf(hours));
  const label = new Intl.DateTimeFormat(locale, {
    timeZone,
    ...(hasDailySteps
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
    pointLabel: translate(hasDailySteps ? 'activity.page.day' : 'operations.hour'),
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

const circuitTones: Readonly<Record<ProviderStatus['circuit'], Tone>> = {
  closed: 'ok',
  'half-open': 'warn',
  open: 'bad',
  unused: 'neutral',
};
const credentialTones: Readonly<Record<ProviderStatus['credential'], Tone>> = {
  ready: 'ok',
  missing: 'warn',
  'not-needed': 'neutral',
  unreadable: 'bad',
};

function providerTable(
  providers: readonly ProviderStatus[],
  { catalogueHref, translate }: HomeContext,
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

function circuitText(
  circuit: ProviderStatus['circuit'],
  lanes: ProviderStatus['lanes'],
  translate: Translate,
): string {
  const label = translate(`operations.circuits.${circuit}`);
  const open = lanes.filter(({ state }) => state !== 'closed').length;
  return open === 0 ? label : `${label} · ${open} / ${lanes.length}`;
}
