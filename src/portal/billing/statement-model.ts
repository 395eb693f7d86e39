import type { Statement, UsageShare } from '../../billing';
import { DAY_MS, validationFault } from '../../kernel';
import { column, formatTime, type Locale, type RowModel, type TableModel, tableOf } from '../../views';
import {
  type DocumentLocalisation,
  factorSpan,
  factorText,
  furtherLabel,
  owedFigures,
  shareLabel,
} from './documents';
import { kindLabel } from './ledger-model';
import { billingTabs, modeBanner, walletLabel } from './payments-model';
import type { WalletParty } from './wallet-party.service';

/** A range of UTC days; `to` is the start of the day after the last. */
export interface StatementSpan {
  readonly from: Date;
  readonly to: Date;
  readonly first: string;
  readonly last: string;
}

const MAX_DAYS = 3_660;
const LISTED_MONTHS = 12;

/** Defaults to the current month; a first day alone means that day only. */
export function readSpan(
  query: { readonly from?: string; readonly to?: string },
  now = new Date(),
): StatementSpan {
  const month = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1));
  const first = parseDay(query.from, 'from');
  const from = first ?? month;
  const last = parseDay(query.to, 'to') ?? first ?? lastDayOf(month);
  const days = (last.getTime() - from.getTime()) / DAY_MS;
  if (days < 0 || days > MAX_DAYS)
    throw dateError('to', 'must be a day from the first one to ten years after it');
  return { from, to: new Date(last.getTime() + DAY_MS), first: isoDay(from), last: isoDay(last) };
}

function parseDay(text: string | undefined, name: string): Date | null {
  if (text === undefined || text === '') return null;
  const day = new Date(`${text}T00:00:00Z`);
  if (Number.isNaN(day.getTime()) || isoDay(day) !== text)
    throw dateError(name, 'must be a day such as 2027-01-31');
  return day;
}

const dateError = (name: string, msg: string) =>
  validationFault([{ loc: ['query', name], msg, type: 'date' }], { message: `${name} ${msg}.` });

const isoDay = (day: Date): string => day.toISOString().slice(0, 10);
const lastDayOf = (month: Date): Date =>
  new Date(Date.UTC(month.getUTCFullYear(), month.getUTCMonth() + 1, 0));

/** Statements of a wallet, and of its invoices if the payer is billed by invoice. */
export interface StatementPair {
  readonly statement: Statement;
  readonly invoices: Statement | null;
}

export function statementModel(
  { statement, invoices }: StatementPair,
  { first, last }: StatementSpan,
  { party, isSandbox }: { readonly party: WalletParty; readonly isSandbox: boolean },
  { translate, locale }: DocumentLocalisation,
) {
  const ownQuery = party.isBeside ? '&own=1' : '';
  const query = `from=${first}&to=${last}${ownQuery}`;
  const money = (label: string, value: bigint) => ({ label, figure: { kind: 'money', value } });
  return {
    mode: modeBanner({ isSandbox, isTestMode: statement.hasTestMoney }, translate),
    spanScope: `${first} – ${last} · UTC · ${walletLabel(party, translate)}`,
    tabs: billingTabs('statements', translate, party),
    pdfHref: `/dashboard/billing/statements/pdf?${query}`,
    csvHref: `/dashboard/billing/statements/export?${query}`,
    isBeside: party.isBeside,
    spanFields: [
      {
        id: 'span-from',
        name: 'from',
        type: 'date',
        label: translate('billing.statement.from'),
        value: first,
      },
      { id: 'span-to', name: 'to', type: 'date', label: translate('billing.statement.to'), value: last },
    ],
    totals: {
      items: [
        money(translate('billing.statement.opening'), statement.opening),
        money(translate('billing.kind.usage'), -statement.usage),
        {
          label: translate('billing.statement.requests'),
          figure: { kind: 'number', value: statement.requests },
        },
        money(translate('billing.statement.closing'), statement.closing),
      ],
    },
    postings: postingTable(statement, locale, translate),
    members: shareTable(translate('billing.statement.members'), statement.byMember, translate),
    projects: shareTable(translate('billing.statement.projects'), statement.byProject, translate),
    factors: statement.factors.length === 0 ? null : factorTable(statement, locale, translate),
    invoices: invoices === null ? null : invoiceModel(invoices, locale, translate),
    months: monthTable(locale, translate, ownQuery),
  };
}

type DocumentTranslate = DocumentLocalisation['translate'];

function invoiceModel(invoices: Statement, locale: Locale, translate: DocumentTranslate) {
  return {
    totals: {
      items: [
        ...owedFigures(invoices).map(([key, value]) => ({
          label: translate(key),
          figure: { kind: 'money', value },
        })),
        {
          label: translate('billing.statement.requests'),
          figure: { kind: 'number', value: invoices.requests },
        },
      ],
    },
    postings: postingTable(invoices, locale, translate),
    members: shareTable(translate('billing.statement.members'), invoices.byMember, translate),
    projects: shareTable(translate('billing.statement.projects'), invoices.byProject, translate),
  };
}

const factorTable = ({ factors }: Statement, locale: Locale, translate: DocumentTranslate): TableModel =>
  tableOf(
    factors,
    {
      caption: translate('billing.statement.factors'),
      columns: [
        column('billing.statement.factor-of', 'text', (factor) =>
          factorSpan(factor, (at) => formatTime(locale, 'UTC', at, 'date'), translate),
        ),
        column('billing.statement.factor', 'text', factorText, 'end'),
      ],
      empty: {
        title: translate('billing.statement.no-usage'),
        text: translate('billing.statement.no-usage-text'),
      },
    },
    translate,
  );

/** Shown in UTC like the span, as the reader's zone could show a day outside of it. */
const postingTable = (
  { postings, furtherPostings }: Statement,
  locale: Locale,
  translate: DocumentTranslate,
): TableModel => ({
  caption: translate('billing.statement.postings'),
  columns: [
    { label: `${translate('billing.payments.date')} (UTC)` },
    { label: translate('billing.ledger.what') },
    { label: translate('billing.ledger.amount'), align: 'end' },
  ],
  rows: [
    ...postings.map(({ at, kind, amount }) =>
      postingRow(formatTime(locale, 'UTC', at, 'minute'), kindLabel(kind, translate), amount),
    ),
    ...furtherPostings.map(({ kind, count, amount }) =>
      postingRow(furtherLabel(count, translate), kindLabel(kind, translate), amount),
    ),
  ],
  empty: {
    title: translate('billing.statement.no-postings'),
    text: translate('billing.statement.no-postings-text'),
  },
});

const postingRow = (when: string, what: string, amount: bigint): RowModel => ({
  cells: [
    { kind: 'text', value: when, heading: true },
    { kind: 'text', value: what },
    { kind: 'money', value: amount, align: 'end' },
  ],
});

const shareTable = (caption: string, rows: readonly UsageShare[], translate: DocumentTranslate): TableModel =>
  tableOf(
    rows,
    {
      caption,
      columns: [
        column('billing.statement.name', 'text', ({ name }) => shareLabel(name, translate)),
        column('billing.statement.requests', 'number', ({ requests }) => requests),
        column('billing.ledger.amount', 'money', ({ cost }) => cost),
      ],
      empty: {
        title: translate('billing.statement.no-usage'),
        text: translate('billing.statement.no-usage-text'),
      },
    },
    translate,
  );

const monthTable = (locale: Locale, translate: DocumentTranslate, ownQuery: string): TableModel =>
  tableOf(
    recentMonths(new Date()),
    {
      caption: translate('billing.statement.months'),
      columns: [column('billing.statement.months', 'text', (month) => monthLabel(month, locale))],
      row: (month) => ({
        href: `/dashboard/billing/statements?from=${isoDay(month)}&to=${isoDay(lastDayOf(month))}${ownQuery}`,
      }),
      empty: {
        title: translate('billing.statement.no-usage'),
        text: translate('billing.statement.no-usage-text'),
      },
    },
    translate,
  );

const recentMonths = (now: Date): Date[] =>
  Array.from(
    { length: LISTED_MONTHS },
    (_, monthsBack) => new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - monthsBack, 1)),
  );

const monthLabel = (month: Date, locale: Locale): string =>
  new Intl.DateTimeFormat(locale, { timeZone: 'UTC', month: 'long', year: 'numeric' }).format(month);
