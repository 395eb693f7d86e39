import type { Locale } from './view-context';

/** A decimal string, nano-dollars, or a plain count. Money never arrives as a float. */
export type Amount = string | bigint;

const nanoPerUnit = 1_000_000_000n;
const formatters = new Map<string, Intl.NumberFormat>();
const dateFormatters = new Map<string, Intl.DateTimeFormat>();

/** Building an Intl formatter costs far more than using one, and a table uses thousands. */
function numberFormat(locale: Locale, options: Intl.NumberFormatOptions): Intl.NumberFormat {
  const key = locale + JSON.stringify(options);
  const known = formatters.get(key);
  if (known) return known;
  const formatter = new Intl.NumberFormat(locale, options);
  formatters.set(key, formatter);
  return formatter;
}

function decimalOf(amount: Amount): Intl.StringNumericLiteral {
  if (typeof amount === 'string') return amount as Intl.StringNumericLiteral;
  const magnitude = amount < 0n ? -amount : amount;
  const fraction = (magnitude % nanoPerUnit).toString().padStart(9, '0');
  const sign = amount < 0n ? '-' : '';
  return `${sign}${magnitude / nanoPerUnit}.${fraction}` as Intl.StringNumericLiteral;
}

/** Only the choice of digits depends on this comparison; the amount itself is formatted exactly. */
function isBelowCent(decimal: Intl.StringNumericLiteral): boolean {
  const size = Math.abs(Number(decimal));
  return size > 0 && size < 0.01;
}

const currency = { style: 'currency', currency: 'USD', currencyDisplay: 'narrowSymbol' } as const;

/** Ledgers, wallets, budgets: two decimals. Less than a cent is still not nothing. */
export function formatMoney(locale: Locale, amount: Amount): string {
  return moneyWith(2, locale, decimalOf(amount));
}

const MOST_DIGITS = 9;

/** Amounts that are read beside one another have as many digits as it takes to tell them apart. */
export function formatMoneys(locale: Locale, amounts: readonly Amount[]): string[] {
  const decimals = amounts.map(decimalOf);
  const different = new Set(decimals.map(Number)).size;
  for (let digits = 2; ; digits += 1) {
    const texts = decimals.map((decimal) => moneyWith(digits, locale, decimal));
    if (digits === MOST_DIGITS || new Set(texts).size >= different) return texts;
  }
}

function moneyWith(digits: number, locale: Locale, decimal: Intl.StringNumericLiteral): string {
  const size = isBelowCent(decimal)
    ? { maximumSignificantDigits: digits }
    : { maximumFractionDigits: digits };
  return numberFormat(locale, { ...currency, ...size }).format(decimal);
}

/** The cost of one request has four decimals, and below a cent four significant digits. */
export function formatCost(locale: Locale, amount: Amount): string {
  const decimal = decimalOf(amount);
  const digits = isBelowCent(decimal) ? { maximumSignificantDigits: 4 } : { maximumFractionDigits: 4 };
  return numberFormat(locale, { ...currency, ...digits }).format(decimal);
}

export function formatNumber(locale: Locale, value: number | bigint): string {
  return numberFormat(locale, {}).format(value);
}

/** Figures are full up to 100,000; beyond that a reader compares magnitudes. */
export function formatCompact(locale: Locale, value: number | bigint): string {
  if (value < 100_000) return formatNumber(locale, value);
  return numberFormat(locale, { notation: 'compact', maximumFractionDigits: 1 }).format(value);
}

export function formatPercent(locale: Locale, ratio: number): string {
  const digits = Math.abs(ratio) < 0.1 ? 1 : 0;
  return numberFormat(locale, { style: 'percent', maximumFractionDigits: digits }).format(ratio);
}

/** The symbols of the second are the same in every language; the number is not. */
export function formatLatency(locale: Locale, milliseconds: number): string {
  if (milliseconds < 999.5) {
    return `${numberFormat(locale, { maximumFractionDigits: 0 }).format(milliseconds)}\u00a0ms`;
  }
  const digits = { minimumFractionDigits: 1, maximumFractionDigits: 1 };
  return `${numberFormat(locale, digits).format(milliseconds / 1000)}\u00a0s`;
}

export type TimeStyle = 'full' | 'date' | 'dated-minute' | 'minute' | 'second' | 'day' | 'month';

const timeStyles: Record<TimeStyle, Intl.DateTimeFormatOptions> = {
  full: { dateStyle: 'medium', timeStyle: 'medium', hourCycle: 'h23' },
  date: { dateStyle: 'medium' },
  'dated-minute': { dateStyle: 'medium', timeStyle: 'short', hourCycle: 'h23' },
  minute: { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' },
  second: { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' },
  day: { day: 'numeric', month: 'short' },
  month: { month: 'short', year: 'numeric' },
};

/** English without a country would put the month before the day. */
const dateTag = (locale: Locale): string => (locale === 'en' ? 'en-GB' : locale);

export function formatTime(locale: Locale, timeZone: string, instant: Date, style: TimeStyle): string {
  const key = `${locale} ${timeZone} ${style}`;
  let formatter = dateFormatters.get(key);
  if (!formatter) {
    formatter = new Intl.DateTimeFormat(dateTag(locale), { ...timeStyles[style], timeZone });
    dateFormatters.set(key, formatter);
  }
  return formatter.format(instant);
}
