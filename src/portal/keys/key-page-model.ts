import {
  type ActivityEntry,
  actionText,
  allTokens,
  type Changes,
  type LoggedRequest,
  type UsageReport,
} from '../../audit';
import type { Period } from '../../kernel';
import {
  type ActingUser,
  type KeyDecision,
  maskKey,
  type ManagedKey,
  canActOnKey,
  type ParallelState,
  type RateState,
} from '../../keys';
import type {
  BannerModel,
  TableCell,
  ChartModel,
  LabelledFigure,
  RowModel,
  TableModel,
  TimelineModel,
  Translate,
} from '../../views';
import { formatPercent, formatTime } from '../../views';
import { type Localisation, describePeriod } from '../../web';
import { DEFAULT_DAYS } from '../lists/periods';
import { requestTable } from '../overview/request-rows';
import { spendChart } from '../overview/spend-chart';
import { attentionBanner } from './key-attention';
import { budgetMeter, isUsedUp, resetText, statusBadge } from './key-labels';
import { requiresConfirmation } from './key-revocation';
import type { EffectiveLimit, EffectiveKeyLimits } from './effective-limits.service';

const GRACE_SECONDS = [0, 3_600, 86_400, 604_800] as const;

interface KeyPageInput {
  readonly key: ManagedKey;
  readonly owners: readonly LabelledFigure[];
  readonly limits: EffectiveKeyLimits;
  readonly rate: RateState;
  /** Null if the key has no such limit. */
  readonly tokens: RateState | null;
  readonly parallel: ParallelState | null;
  readonly acting: ActingUser;
  readonly period: Period;
  readonly usage: UsageReport;
  /** Number of requests in the last 24 hours. */
  readonly lastDay: number;
  readonly requests: readonly LoggedRequest[];
  readonly history: readonly ActivityEntry[];
}

export interface KeyPageModel {
  readonly key: object;
  readonly attention: BannerModel | null;
  /** Decisions of administrators, and a pending change by a file of keys. */
  readonly decisions: readonly BannerModel[];
  readonly figures: { items: LabelledFigure[] };
  readonly facts: { items: LabelledFigure[] };
  readonly limits: TableModel;
  readonly chart: ChartModel | null;
  readonly scope: string;
  readonly requests: TableModel;
  readonly history: TimelineModel | null;
  readonly acts: object;
}

export function keyPageModel(input: KeyPageInput, localisation: Localisation): KeyPageModel {
  const { key, acting, usage, lastDay } = input;
  const { translate } = localisation;
  const isFinal = key.status === 'revoked';
  const needsAttention = key.status === 'expired' || (key.status === 'active' && isUsedUp(key));
  return {
    key: {
      publicId: key.publicId,
      name: key.name,
      masked: maskKey(key.publicId),
      badge: statusBadge(key, translate),
      href: `/dashboard/keys/${key.id}`,
      logHref: `/dashboard/request-log?key=${key.id}`,
    },
    attention: needsAttention ? attentionBanner(key, localisation) : null,
    decisions: decisionBanners(key, acting, localisation),
    figures: figuresOf(input, translate),
    facts: attributesOf(input, translate),
    limits: limitTable(input, localisation),
    chart: usage.groups.length === 0 ? null : spendChart(usage, localisation),
    scope: `${describePeriod(input.period, localisation, { days: DEFAULT_DAYS })} · ${key.name}`,
    requests: requestTable(
      input.requests,
      { title: translate('keys.unused-title'), text: translate('keys.unused-text') },
      translate,
    ),
    history: input.history.length === 0 ? null : historyTimeline(input.history, translate),
    acts: {
      mayChange: !isFinal,
      mayLimit: canActOnKey('limit', acting, key),
      explains: acting.as === 'administrator',
      isKept: key.fileName !== null,
      mayPause: key.status === 'active',
      mayResume: key.status === 'disabled' && canActOnKey('resume', acting, key),
      mayRestore: key.restorableUntil !== null && canActOnKey('restore', acting, key),
      mayRotate: canActOnKey('rotate', acting, key),
      callers: lastDay,
      asksForName: requiresConfirmation(acting, lastDay),
      graces: GRACE_SECONDS.map((seconds) => ({
        value: String(seconds),
        label: translate(`keys.grace.${seconds}`),
        selected: seconds === GRACE_SECONDS[2],
      })),
    },
  };
}

function decisionBanners(key: ManagedKey, acting: ActingUser, localisation: Localisation): BannerModel[] {
  const { pause, limitsLock, status, fileName } = key;
  const { translate, locale } = localisation;
  const decisionBanner = (text: string, { by, at, reason }: KeyDecision): BannerModel => {
    const when = `${formatTime(locale, 'UTC', at, 'minute')} UTC`;
    const sentence = translate(text, { name: by ?? translate('keys.an-administrator'), at: when });
    return { tone: 'warn', text: reason === null ? sentence : `${sentence} ${reason}` };
  };
  const fileBanners: BannerModel[] =
    fileName === null || status === 'revoked'
      ? []
      : [{ tone: 'info', text: translate('keys.kept.banner', { name: fileName }) }];
  return [
    ...fileBanners,
    ...(pause === null || status !== 'disabled' ? [] : [decisionBanner('keys.paused-by', pause)]),
    ...revocationBanners(key, acting, localisation),
    ...(limitsLock === null ? [] : [decisionBanner('keys.locked-by', limitsLock)]),
  ];
}

function revocationBanners(
  key: ManagedKey,
  acting: ActingUser,
  { translate, locale }: Localisation,
): BannerModel[] {
  const { revocation, revokedAt, restorableUntil } = key;
  if (revokedAt === null || restorableUntil === null) return [];
  const timeText = (at: Date): string => `${formatTime(locale, 'UTC', at, 'minute')} UTC`;
  const canRestore = canActOnKey('restore', acting, key);
  const text = translate(canRestore ? 'keys.restore.until' : 'keys.restore.bound', {
    name: revocation?.by ?? translate('keys.an-administrator'),
    at: timeText(revokedAt),
    until: timeText(restorableUntil),
  });
  const action = { href: '#key-restore-heading', label: translate('keys.restore.submit') };
  return [{ tone: 'warn', text, ...(canRestore ? { action } : {}) }];
}

function figuresOf({ usage, rate }: KeyPageInput, translate: Translate): { items: LabelledFigure[] } {
  const { requests, failures, costNano } = usage.total;
  return {
    items: [
      { label: translate('keys.spend'), figure: { kind: 'money', value: costNano } },
      { label: translate('overview.requests'), figure: { kind: 'compact', value: requests } },
      { label: translate('overview.tokens'), figure: { kind: 'compact', value: allTokens(usage.total) } },
      {
        label: translate('overview.errors'),
        figure: { kind: 'percent', value: requests === 0 ? null : failures / requests },
      },
      {
        label: translate('keys.rate-now'),
        figure: { kind: 'text', value: translate('keys.rate-used', { used: rate.used, limit: rate.limit }) },
      },
    ],
  };
}

function attributesOf(
  { key, owners, requests }: KeyPageInput,
  translate: Translate,
): { items: LabelledFigure[] } {
  const all = translate('list.all');
  const text = (label: string, value: string): LabelledFigure => ({ label, figure: { kind: 'text', value } });
  const labels = Object.entries(key.metadata).map(([name, value]) => `${name}=${value}`);
  return {
    items: [
      { label: translate('keys.created'), figure: { kind: 'time', value: key.createdAt } },
      text(translate('keys.created-by'), key.createdBy),
      ...owners,
      { label: translate('keys.last-used'), figure: { kind: 'time', value: requests[0]?.createdAt ?? null } },
      { label: translate('keys.field.expires_on'), figure: { kind: 'time', value: key.expiresAt } },
      text(translate('keys.models'), key.allowedModels?.join(', ') ?? all),
      text(translate('keys.regions'), key.allowedRegions?.join(', ') ?? all),
      ...(labels.length === 0 ? [] : [text(translate('keys.field.labels'), labels.join(', '))]),
      ...(key.previousUntil === null
        ? []
        : [
            {
              label: translate('keys.previous-until'),
              figure: { kind: 'time' as const, value: key.previousUntil },
            },
          ]),
      ...(key.revokedAt === null
        ? []
        : [{ label: translate('keys.revoked-at'), figure: { kind: 'time' as const, value: key.revokedAt } }]),
    ],
  };
}

/** Lists all limits of a key; the one that would be reached first is marked. */
function limitTable(
  { key, limits, rate, tokens, parallel }: KeyPageInput,
  localisation: Localisation,
): TableModel {
  const { translate, locale } = localisation;
  return {
    caption: translate('keys.limits'),
    columns: [
      { label: translate('keys.limit-of') },
      { label: translate('keys.limit-used') },
      { label: translate('keys.limit-left'), align: 'end' },
      { label: translate('keys.tightest-column') },
    ],
    rows: [
      ...limits.limits.map((limit) => limitRow(limit, localisation)),
      ...key.modelBudgets.map((budget) => modelBudgetRow(budget, localisation)),
      walletRow(limits, translate),
      counterRow('rate', rate.used, rate.limit, translate),
      ...(tokens === null ? [] : [counterRow('tokens', tokens.used, tokens.limit, translate)]),
      ...(parallel === null ? [] : [counterRow('parallel', parallel.open, parallel.limit, translate)]),
    ],
    empty: { title: translate('keys.limits'), text: formatPercent(locale, 0) },
  };
}

const limitRow = (limit: EffectiveLimit, localisation: Localisation): RowModel => ({
  cells: [
    { kind: 'text', value: localisation.translate(`keys.limit.${limit.kind}`), heading: true },
    usedCell(limit, localisation),
    limit.showsAmounts
      ? { kind: 'money', value: limit.state.remaining, align: 'end' }
      : { kind: 'text', value: localisation.translate('keys.not-shown'), align: 'end' },
    tightestCell(limit.isTightest, localisation.translate),
  ],
});

function modelBudgetRow(
  { model, state }: ManagedKey['modelBudgets'][number],
  localisation: Localisation,
): RowModel {
  const label = localisation.translate('keys.limit.key_model', { model });
  return {
    cells: [
      { kind: 'text', value: label, heading: true },
      { kind: 'meter', value: budgetMeter(label, state, localisation) },
      { kind: 'money', value: state.remaining, align: 'end' },
      tightestCell(false, localisation.translate),
    ],
  };
}

function walletRow({ wallet, isExempt }: EffectiveKeyLimits, translate: Translate): RowModel {
  const noWalletKey = isExempt ? 'keys.exempt' : 'keys.no-payer';
  const hasFunds = wallet !== null && wallet.remaining > 0n;
  const walletKey = `keys.${wallet?.isInvoice === true ? 'invoice' : 'wallet'}-${hasFunds ? 'filled' : 'empty'}`;
  return {
    cells: [
      {
        kind: 'text',
        value: translate(wallet?.isInvoice === true ? 'keys.limit.invoice' : 'keys.limit.wallet'),
        heading: true,
      },
      { kind: 'text', value: translate(wallet === null ? noWalletKey : walletKey) },
      wallet?.showsAmounts === true
        ? { kind: 'money', value: wallet.remaining, align: 'end' }
        : { kind: 'text', value: wallet === null ? '–' : translate('keys.not-shown'), align: 'end' },
      tightestCell(wallet?.isTightest ?? false, translate),
    ],
  };
}

const counterRow = (name: string, used: number, limit: number, translate: Translate): RowModel => ({
  cells: [
    { kind: 'text', value: translate(`keys.limit.${name}`), heading: true },
    { kind: 'text', value: translate('keys.rate-used', { used, limit }) },
    { kind: 'number', value: Math.max(0, limit - used), align: 'end' },
    tightestCell(false, translate),
  ],
});

const tightestCell = (isTightest: boolean, translate: Translate): TableCell =>
  isTightest
    ? { kind: 'badge', value: { tone: 'info', label: translate('keys.tightest') } }
    : { kind: 'text', value: '' };

function usedCell({ kind, state, showsAmounts }: EffectiveLimit, localisation: Localisation): TableCell {
  const { translate, locale } = localisation;
  const label = translate(`keys.limit.${kind}`);
  const budget = budgetMeter(label, state, localisation);
  if (showsAmounts) return { kind: 'meter', value: budget };
  const text = translate('keys.used-share', {
    share: formatPercent(locale, budget.filled / 100),
    period: translate(`keys.period.${state.period}`),
  });
  return { kind: 'meter', value: { ...budget, text, note: resetText(state, localisation, false) } };
}

const historyTimeline = (entries: readonly ActivityEntry[], translate: Translate): TimelineModel => ({
  items: entries.map((entry) => ({
    title: actionText(entry.action, translate),
    tone: entry.action === 'key.revoked' ? 'bad' : entry.action === 'key.disabled' ? 'warn' : 'neutral',
    text: [
      entry.actor.label,
      ...changeTexts(entry.changes ?? {}),
      ...(entry.reason === null ? [] : [entry.reason]),
    ].join(' · '),
    at: entry.occurredAt,
  })),
});

const changeTexts = (changes: Changes): string[] =>
  Object.entries(changes).map(
    ([name, [before, after]]) => `${name}: ${displayValue(before)} → ${displayValue(after)}`,
  );

const displayValue = (value: unknown): string =>
  value === null ? '–' : typeof value === 'string' ? value : JSON.stringify(value);
