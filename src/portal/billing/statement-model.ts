import type { Statement, UsageShare } from '../../billing';
import { DAY_MS, validationFault } from '../../kernel';
import { column, formatTime, type Locale, type RowModel, type TableModel, tableOf } from '../../views';
import {
  type DocumentLocalisation,
  factorSpan,
  factorText,
  furtherWords,
  owedFigures,
  shareWords,
} from './documents';
import { kindWords } from './ledger-model';
import { billingTabs, modeBanner, walletWords } from './payments-model';
import type { WalletParty } from './wallet-party';

/** Days of UTC; `to` is the beginning of the day after the last. */
export interface Span {
  readonly from: Date;
  readonly to: Date;
  readonly first: string;
  readonly last: string;
}

const MOST_DAYS = 3_660;
const MONTHS_SHOWN = 12;

/** Without a span, it is the month that runs; with a first day alone, it is that day. */
export function readSpan(query: { readonly from?: string; readonly to?: string }, now = new Date()): Span {
  const month = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1));
  const first = dayOf(query.from, 'from');
  const from = first ?? month;
  const last = dayOf(query.to, 'to') ?? first ?? lastDayOf(month);
  const days = (last.getTime() - from.getTime()) / DAY_MS;
  if (days < 0 || days > MOST_DAYS)
    throw refused('to', 'must be a day from the first one to ten years after it');
  return { from, to: new Date(last.getTime() + DAY_MS), first: isoDay(from), last: isoDay(last) };
}

function dayOf(text: string | undefined, name: string): Date | null {
  if (text === undefined || text === '') return null;
  const day = new Date(`${text}T00:00:00Z`);
  if (Number.isNaN(day.getTime()) || isoDay(day) !== text)
    throw refused(name, 'must be a day such as 2027-01-31');
  return day;
}

const refused = (name: string, msg: string) =>
  validationFault([{ loc: ['query', name], msg, type: 'date' }], { message: `${name} ${msg}.` });

const isoDay = (day: Date): string => day.toISOString().slice(0, 10);
const lastDayOf = (month: Date): Date =>
  new Date(Date.UTC(month.getUTCFullYear(), month.getUTCMonth() + 1, 0));

/** They are statements of the wallet, and of what its payer is billed for by invoice. */
export interface Statements {
  readonly statement: Statement;
  readonly invoices: Statement | null;
}

export function statementModel(
  { statement, invoices }: Statements,
  { first, last }: Span,
  { party, isSandbox }: { readonly party: WalletParty; readonly isSandbox: boolean },
  { translate, locale }: DocumentLocalisation,
) {
  const own = party.isBeside ? '&own=1' : '';
  const query = `from=${first}&to=${last}${own}`;
  const money = (label: string, value: bigint) => ({ label, figure: { kind: 'money', value } });
  return {
    mode: modeBanner({ isSandbox, isTestMode: statement.hasTestMoney }, translate),
    spanScope: `${first} – ${last} · UTC · ${walletWords(party, translate)}`,
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
    months: monthTable(locale, translate, own),
  };
}

type Translate = DocumentLocalisation['translate'];

function invoiceModel(invoices: Statement, locale: Locale, translate: Translate) {
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

const factorTable = ({ factors }: Statement, locale: Locale, translate: Translate): TableModel =>
  tableOf(
    factors,
    {
      caption: translate('billing.statement.factors'),
      columns: [
        column('billing.statement.factor-of', 'text', (held) =>
          factorSpan(held, (at) => formatTime(locale, 'UTC', at, 'date'), translate),
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

/** In UTC, as the span is: a reader's own zone could show a day outside of it. */
const postingTable = (
  { postings, furtherPostings }: Statement,
  locale: Locale,
  translate: Translate,
): TableModel => ({
  caption: translate('billing.statement.postings'),
  columns: [
    { label: `${translate('billing.payments.date')} (UTC)` },
    { label: translate('billing.ledger.what') },
    { label: translate('billing.ledger.amount'), align: 'end' },
  ],
  rows: [
    ...postings.map(({ at, kind, amount }) =>
      postingRow(formatTime(locale, 'UTC', at, 'minute'), kindWords(kind, translate), amount),
    ),
    ...furtherPostings.map(({ kind, count, amount }) =>
      postingRow(furtherWords(count, translate), kindWords(kind, translate), amount),
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

const shareTable = (caption: string, rows: readonly UsageShare[], translate: Translate): TableModel =>
  tableOf(
    rows,
    {
      caption,
      columns: [
        column('billing.statement.name', 'text', ({ name }) => shareWords(name, translate)),
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

const monthTable = (locale: Locale, translate: Translate, own: string): TableModel =>
  tableOf(
    monthsBefore(new Date()),
    {
      caption: translate('billing.statement.months'),
      columns: [column('billing.statement.months', 'text', (month) => monthWords(month, locale))],
      row: (month) => ({
        href: `/dashboard/billing/statements?from=${isoDay(month)}&to=${isoDay(lastDayOf(month))}${own}`,
      }),
      empty: {
        title: translate('billing.statement.no-usage'),
        text: translate('billing.statement.no-usage-text'),
      },
    },
    translate,
  );

const monthsBefore = (now: Date): Date[] =>
  Array.from(
    { length: MONTHS_SHOWN },
    (_, back) => new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back, 1)),
  );

const monthWords = (month: Date, locale: Locale): string =>
  new Intl.DateTimeFormat(locale, { timeZone: 'UTC', month: 'long', year: 'numeric' }).format(month);
