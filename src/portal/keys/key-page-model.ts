import {
  type ActivityEntry,
  actionText,
  allTokens,
  type Changes,
  type LoggedRequest,
  type UsageAnswer,
} from '../../audit';
import type { Period } from '../../kernel';
import {
  type ActingOnKey,
  type KeyDecision,
  maskKey,
  type ManagedKey,
  mayActOnKey,
  type ParallelState,
  type RateState,
} from '../../keys';
import type {
  BannerModel,
  Cell,
  ChartModel,
  LabelledFigure,
  RowModel,
  TableModel,
  TimelineModel,
  Translate,
} from '../../views';
import { formatPercent, formatTime } from '../../views';
import { type Localisation, periodWords } from '../../web';
import { USUAL_DAYS } from '../lists/periods';
import { requestTable } from '../overview/request-rows';
import { spendChart } from '../overview/usage-chart';
import { attentionOf } from './key-attention';
import { budgetMeter, isUsedUp, resetWords, statusBadge } from './key-words';
import { asksForName } from './key-revocation';
import type { LimitInForce, LimitsInForce } from './limits-in-force';

const GRACES = [0, 3_600, 86_400, 604_800] as const;

interface Facts {
  readonly key: ManagedKey;
  /** The key belongs to these owners. */
  readonly owners: readonly LabelledFigure[];
  readonly limits: LimitsInForce;
  readonly rate: RateState;
  /** It is null where the key has no such limit. */
  readonly tokens: RateState | null;
  readonly parallel: ParallelState | null;
  readonly acting: ActingOnKey;
  readonly period: Period;
  readonly usage: UsageAnswer;
  /** These are requests of the last 24 hours. */
  readonly lastDay: number;
  readonly requests: readonly LoggedRequest[];
  readonly history: readonly ActivityEntry[];
}

export interface KeyPageModel {
  readonly key: object;
  readonly attention: BannerModel | null;
  /** An administrator decided this, or a file will. */
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

export function keyPage(facts: Facts, localisation: Localisation): KeyPageModel {
  const { key, acting, usage, lastDay } = facts;
  const { translate } = localisation;
  const isFinal = key.status === 'revoked';
  const needsLook = key.status === 'expired' || (key.status === 'active' && isUsedUp(key));
  return {
    key: {
      publicId: key.publicId,
      name: key.name,
      masked: maskKey(key.publicId),
      badge: statusBadge(key, translate),
      href: `/dashboard/keys/${key.id}`,
      logHref: `/dashboard/request-log?key=${key.id}`,
    },
    attention: needsLook ? attentionOf(key, localisation) : null,
    decisions: decisionsOf(key, acting, localisation),
    figures: figuresOf(facts, translate),
    facts: factsOf(facts, translate),
    limits: limitsTable(facts, localisation),
    chart: usage.groups.length === 0 ? null : spendChart(usage, localisation),
    scope: `${periodWords(facts.period, localisation, { days: USUAL_DAYS })} · ${key.name}`,
    requests: requestTable(
      facts.requests,
      { title: translate('keys.unused-title'), text: translate('keys.unused-text') },
      translate,
    ),
    history: facts.history.length === 0 ? null : historyOf(facts.history, translate),
    acts: {
      mayChange: !isFinal,
      mayLimit: mayActOnKey('limit', acting, key),
      explains: acting.as === 'administrator',
      isKept: key.fileName !== null,
      mayPause: key.status === 'active',
      mayResume: key.status === 'disabled' && mayActOnKey('resume', acting, key),
      mayRestore: key.restorableUntil !== null && mayActOnKey('restore', acting, key),
      mayRotate: mayActOnKey('rotate', acting, key),
      callers: lastDay,
      asksForName: asksForName(acting, lastDay),
      graces: GRACES.map((seconds) => ({
        value: String(seconds),
        label: translate(`keys.grace.${seconds}`),
        selected: seconds === GRACES[2],
      })),
    },
  };
}

function decisionsOf(key: ManagedKey, acting: ActingOnKey, localisation: Localisation): BannerModel[] {
  const { pause, limitsLock, status, fileName } = key;
  const { translate, locale } = localisation;
  const words = (text: string, { by, at, reason }: KeyDecision): BannerModel => {
    const when = `${formatTime(locale, 'UTC', at, 'minute')} UTC`;
    const said = translate(text, { name: by ?? translate('keys.an-administrator'), at: when });
    return { tone: 'warn', text: reason === null ? said : `${said} ${reason}` };
  };
  const kept: BannerModel[] =
    fileName === null || status === 'revoked'
      ? []
      : [{ tone: 'info', text: translate('keys.kept.banner', { name: fileName }) }];
  return [
    ...kept,
    ...(pause === null || status !== 'disabled' ? [] : [words('keys.paused-by', pause)]),
    ...revocationOf(key, acting, localisation),
    ...(limitsLock === null ? [] : [words('keys.locked-by', limitsLock)]),
  ];
}

function revocationOf(
  key: ManagedKey,
  acting: ActingOnKey,
  { translate, locale }: Localisation,
): BannerModel[] {
  const { revocation, revokedAt, restorableUntil } = key;
  if (revokedAt === null || restorableUntil === null) return [];
  const words = (at: Date): string => `${formatTime(locale, 'UTC', at, 'minute')} UTC`;
  const mayRestore = mayActOnKey('restore', acting, key);
  const text = translate(mayRestore ? 'keys.restore.until' : 'keys.restore.bound', {
    name: revocation?.by ?? translate('keys.an-administrator'),
    at: words(revokedAt),
    until: words(restorableUntil),
  });
  const action = { href: '#key-restore-heading', label: translate('keys.restore.submit') };
  return [{ tone: 'warn', text, ...(mayRestore ? { action } : {}) }];
}

function figuresOf({ usage, rate }: Facts, translate: Translate): { items: LabelledFigure[] } {
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

function factsOf({ key, owners, requests }: Facts, translate: Translate): { items: LabelledFigure[] } {
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

/** Whichever of these is reached first stops the key; the nearest is marked. */
function limitsTable({ key, limits, rate, tokens, parallel }: Facts, localisation: Localisation): TableModel {
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
      countedRow('rate', rate.used, rate.limit, translate),
      ...(tokens === null ? [] : [countedRow('tokens', tokens.used, tokens.limit, translate)]),
      ...(parallel === null ? [] : [countedRow('parallel', parallel.open, parallel.limit, translate)]),
    ],
    empty: { title: translate('keys.limits'), text: formatPercent(locale, 0) },
  };
}

const limitRow = (limit: LimitInForce, localisation: Localisation): RowModel => ({
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

function walletRow({ wallet, isExempt }: LimitsInForce, translate: Translate): RowModel {
  const unpaid = isExempt ? 'keys.exempt' : 'keys.no-payer';
  const filled = wallet !== null && wallet.remaining > 0n;
  const paid = `keys.${wallet?.isInvoice === true ? 'invoice' : 'wallet'}-${filled ? 'filled' : 'empty'}`;
  return {
    cells: [
      {
        kind: 'text',
        value: translate(wallet?.isInvoice === true ? 'keys.limit.invoice' : 'keys.limit.wallet'),
        heading: true,
      },
      { kind: 'text', value: translate(wallet === null ? unpaid : paid) },
      wallet?.showsAmounts === true
        ? { kind: 'money', value: wallet.remaining, align: 'end' }
        : { kind: 'text', value: wallet === null ? '–' : translate('keys.not-shown'), align: 'end' },
      tightestCell(wallet?.isTightest ?? false, translate),
    ],
  };
}

const countedRow = (name: string, used: number, limit: number, translate: Translate): RowModel => ({
  cells: [
    { kind: 'text', value: translate(`keys.limit.${name}`), heading: true },
    { kind: 'text', value: translate('keys.rate-used', { used, limit }) },
    { kind: 'number', value: Math.max(0, limit - used), align: 'end' },
    tightestCell(false, translate),
  ],
});

const tightestCell = (isTightest: boolean, translate: Translate): Cell =>
  isTightest
    ? { kind: 'badge', value: { tone: 'info', label: translate('keys.tightest') } }
    : { kind: 'text', value: '' };

function usedCell({ kind, state, showsAmounts }: LimitInForce, localisation: Localisation): Cell {
  const { translate, locale } = localisation;
  const label = translate(`keys.limit.${kind}`);
  const shown = budgetMeter(label, state, localisation);
  if (showsAmounts) return { kind: 'meter', value: shown };
  const text = translate('keys.used-share', {
    share: formatPercent(locale, shown.filled / 100),
    period: translate(`keys.period.${state.period}`),
  });
  return { kind: 'meter', value: { ...shown, text, note: resetWords(state, localisation, false) } };
}

const historyOf = (entries: readonly ActivityEntry[], translate: Translate): TimelineModel => ({
  items: entries.map((entry) => ({
    title: actionText(entry.action, translate),
    tone: entry.action === 'key.revoked' ? 'bad' : entry.action === 'key.disabled' ? 'warn' : 'neutral',
    text: [
      entry.actor.label,
      ...changeWords(entry.changes ?? {}),
      ...(entry.reason === null ? [] : [entry.reason]),
    ].join(' · '),
    at: entry.occurredAt,
  })),
});

const changeWords = (changes: Changes): string[] =>
  Object.entries(changes).map(([name, [before, after]]) => `${name}: ${shown(before)} → ${shown(after)}`);

const shown = (value: unknown): string =>
  value === null ? '–' : typeof value === 'string' ? value : JSON.stringify(value);
