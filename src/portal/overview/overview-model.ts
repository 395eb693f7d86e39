import type { Latencies, LoggedRequest, UsageReport, UsageSums } from '../../audit';
import { type ReachedBudget, shareOf } from '../../billing';
import type { NoticeTopic } from '../../identity';
import type { Period } from '../../kernel';
import type { ManagedKey } from '../../keys';
import {
  type BannerModel,
  type ChartModel,
  formatCompact,
  formatLatency,
  formatMoney,
  formatMoneys,
  formatPercent,
  type PeriodPickerModel,
  spark,
  type TableModel,
  type TileModel,
} from '../../views';
import { type HttpRequest, type Localisation, describePeriod, describeScope } from '../../web';
import { periodPicker } from '../lists/periods';
import { attentionBanner, expiryBanner } from '../keys/key-attention';
import { budgetMeter, resetText } from '../keys/key-labels';
import { dateOf, occurrenceOf, topicPages, type SentNotice } from '../notices/personal-notices';
import type { Funds } from './funds.service';
import { requestTable } from './request-rows';
import { spendChart } from './spend-chart';

export const overviewPeriods = [7, 30, 90] as const;

interface OverviewInput {
  readonly request: HttpRequest;
  readonly days: number;
  readonly period: Period;
  readonly usage: UsageReport;
  readonly earlier: UsageReport;
  readonly latest: readonly LoggedRequest[];
  readonly latencies: Latencies;
  readonly funds: Funds;
  readonly budgets: readonly ReachedBudget[];
  /** Keys that need attention; only in administrator views, which cover several users. */
  readonly troubled: readonly ManagedKey[];
  readonly ending: readonly ManagedKey[];
  readonly notices: readonly SentNotice[];
  readonly muted: readonly NoticeTopic[];
}

export interface OverviewModel {
  readonly scope: string;
  readonly periods: PeriodPickerModel;
  readonly attention: BannerModel[];
  readonly tiles: TileModel[];
  readonly chart: ChartModel | null;
  readonly requests: TableModel;
}

export function overviewModel(input: OverviewInput, localisation: Localisation): OverviewModel {
  const { request, days, period, usage, latest, funds } = input;
  const { translate } = localisation;
  return {
    scope: `${describePeriod(period, localisation, { days })} · ${describeScope(request, translate)}`,
    periods: periodPicker({ request, query: { days }, localisation }, overviewPeriods),
    attention: attentionBanners(input, localisation),
    tiles: [...fundsTiles(funds, localisation), ...usageTiles(input, localisation)],
    chart: usage.groups.length === 0 ? null : spendChart(usage, localisation),
    requests: requestTable(
      latest,
      { title: translate('overview.none-title'), text: translate('overview.none-text') },
      translate,
    ),
  };
}

/** Collects the banners, except those of topics that the user has muted. */
function attentionBanners(
  { funds, budgets, troubled, ending, notices, muted }: OverviewInput,
  localisation: Localisation,
): BannerModel[] {
  const unless = (topic: NoticeTopic, banners: () => BannerModel[]): BannerModel[] =>
    muted.includes(topic) ? [] : banners();
  return [
    ...unless('balance', () => walletAttention(funds, localisation)),
    ...unless('budget', () => [
      ...budgets.map((budget) => budgetAttention(budget, localisation)),
      ...troubled.map((key) => attentionBanner(key, localisation)),
    ]),
    ...ending.map((key) => expiryBanner(key, localisation)),
    ...notices.map((notice) => noticeBanner(notice, localisation)),
  ];
}

const noticeBanner = (notice: SentNotice, { translate, locale, timeZone }: Localisation): BannerModel => ({
  tone: 'warn',
  text: translate(`notices.told.${occurrenceOf(notice)}`, {
    ...notice.facts,
    ...dateOf(notice.facts, locale, timeZone),
  }),
  action: { label: translate('action.details'), href: topicPages[notice.topic] },
});

function walletAttention(
  { remaining, lowBalance }: Funds,
  { locale, translate }: Localisation,
): BannerModel[] {
  if (remaining === null) return [];
  const action = { label: translate('overview.top-up'), href: '/dashboard/billing' };
  if (remaining <= 0n) return [{ tone: 'bad', text: translate('overview.wallet-empty'), action }];
  if (lowBalance === null) return [];
  const text =
    lowBalance > 0n
      ? translate('overview.wallet-low', { amount: formatMoney(locale, lowBalance) })
      : translate('overview.wallet-on-credit', { amount: formatMoney(locale, remaining) });
  return [{ tone: 'warn', text, action }];
}

/** Uses the same thresholds as the emails, starting at half of a budget. */
function budgetAttention(
  { kind, name, keyId, state }: ReachedBudget,
  { locale, translate }: Localisation,
): BannerModel {
  const isUsedUp = state.remaining === 0n;
  const [spent, limit] = formatMoneys(locale, [state.spent, state.limit + state.raised]);
  const text = translate(`notices.told.${isUsedUp ? 'budget-used-up' : 'budget-reached'}`, {
    what: translate(`billing.budget.${kind}`, { name: name ?? '' }),
    used: formatPercent(locale, Math.min(1, shareOf(state))),
    spent,
    limit,
  });
  return {
    tone: isUsedUp ? 'bad' : shareOf(state) < 0.8 ? 'info' : 'warn',
    text: `${text} ${resetText(state, { locale, translate })}`,
    action: {
      label: translate('action.details'),
      href: keyId === null ? '/dashboard/usage' : `/dashboard/keys/${keyId}`,
    },
  };
}

function fundsTiles({ isExempt, remaining, budget }: Funds, localisation: Localisation): TileModel[] {
  const { translate } = localisation;
  const tiles: TileModel[] = [];
  if (remaining !== null || isExempt) {
    tiles.push({
      label: translate('overview.wallet'),
      href: '/dashboard/billing',
      figure: isExempt
        ? { kind: 'text', value: translate('overview.exempt') }
        : { kind: 'money', value: remaining },
    });
  }
  if (budget !== null) {
    tiles.push({
      label: translate('keys.budget'),
      figure: { kind: 'money', value: budget.remaining },
      meter: budgetMeter(translate('keys.budget'), budget, localisation),
    });
  }
  return tiles;
}

function usageTiles(
  { days, usage, earlier, latencies }: OverviewInput,
  localisation: Localisation,
): TileModel[] {
  const { translate, locale } = localisation;
  const { total, buckets } = usage;
  const share = (part: number): number => (total.requests === 0 ? 0 : part / total.requests);
  const sparkline = (valueOf: (sums: UsageSums) => number) =>
    buckets.length > 1 && total.requests > 0 ? { spark: spark(buckets.map(valueOf)) } : {};
  return [
    {
      label: translate('overview.spend'),
      figure: { kind: 'money', value: total.costNano },
      href: `/dashboard/usage?days=${days}`,
      ...changeOf(total.costNano, earlier.total.costNano, localisation),
      ...sparkline(({ costNano }) => Number(costNano)),
    },
    {
      label: translate('overview.requests'),
      figure: { kind: 'compact', value: total.requests },
      ...changeOf(BigInt(total.requests), BigInt(earlier.total.requests), localisation),
      ...sparkline(({ requests }) => requests),
    },
    {
      label: translate('overview.errors'),
      figure: { kind: 'percent', value: total.requests === 0 ? null : share(total.failures) },
      note: translate('overview.moved', {
        share: formatPercent(locale, share(total.failovers)),
        failures: formatCompact(locale, total.failures),
      }),
    },
    {
      label: translate('overview.slow'),
      figure: { kind: 'latency', value: latencies.slowMs },
      note: translate('overview.slow-note', {
        first: latencies.firstTokenMs === null ? '–' : formatLatency(locale, latencies.firstTokenMs),
        count: latencies.requests,
      }),
    },
  ];
}

function changeOf(
  now: bigint,
  before: bigint,
  { locale, translate }: Localisation,
): Pick<TileModel, 'change'> {
  if (before === 0n) return {};
  const ratio = Number(((now - before) * 10_000n) / before) / 10_000;
  return {
    change: {
      tone: 'neutral',
      icon: ratio < 0 ? 'arrow-down' : 'arrow-up',
      text: translate('overview.change', { share: formatPercent(locale, Math.abs(ratio)) }),
    },
  };
}
