import type { Locale } from './view-context';

/** A decimal string, nano-dollars (bigint), or a plain count; never a float. */
export type Amount = string | bigint;

const nanoPerUnit = 1_000_000_000n;
const formatters = new Map<string, Intl.NumberFormat>();
const dateFormatters = new Map<string, Intl.DateTimeFormat>();

/** Caches formatters: building one costs far more than using it, and a table uses thousands. */
function numberFormat(locale: Locale, options: Intl.NumberFormatOptions): Intl.NumberFormat {
  const key = locale + JSON.stringify(options);
  const cached = formatters.get(key);
  if (cached) return cached;
  const formatter = new Intl.NumberFormat(locale, options);
  formatters.set(key, formatter);
  return formatter;
}

function toDecimal(amount: Amount): Intl.StringNumericLiteral {
  if (typeof amount === 'string') return amount as Intl.StringNumericLiteral;
  const magnitude = amount < 0n ? -amount : amount;
  const fraction = (magnitude % nanoPerUnit).toString().padStart(9, '0');
  const sign = amount < 0n ? '-' : '';
  return `${sign}${magnitude / nanoPerUnit}.${fraction}` as Intl.StringNumericLiteral;
}

/** Chooses the number of digits only; the amount is formatted exactly. */
function isBelowCent(decimal: Intl.StringNumericLiteral): boolean {
  const magnitude = Math.abs(Number(decimal));
  return magnitude > 0 && magnitude < 0.01;
}

const currency = { style: 'currency', currency: 'USD', currencyDisplay: 'narrowSymbol' } as const;

/** Formats ledger, wallet and budget amounts with two decimals. Amounts below one cent keep significant digits. */
export function formatMoney(locale: Locale, amount: Amount): string {
  return formatMoneyWithDigits(2, locale, toDecimal(amount));
}

const MAX_FRACTION_DIGITS = 9;

/** Formats amounts shown next to each other with enough digits to tell them apart. */
export function formatMoneys(locale: Locale, amounts: readonly Amount[]): string[] {
  const decimals = amounts.map(toDecimal);
  const distinctCount = new Set(decimals.map(Number)).size;
  for (let digits = 2; ; digits += 1) {
    const texts = decimals.map((decimal) => formatMoneyWithDigits(digits, locale, decimal));
    if (digits === MAX_FRACTION_DIGITS || new Set(texts).size >= distinctCount) return texts;
  }
}

function formatMoneyWithDigits(digits: number, locale: Locale, decimal: Intl.StringNumericLiteral): string {
  const digitOptions = isBelowCent(decimal)
    ? { maximumSignificantDigits: digits }
    : { maximumFractionDigits: digits };
  return numberFormat(locale, { ...currency, ...digitOptions }).format(decimal);
}

/** Formats the cost of one request with four decimals, or four significant digits below one cent. */
export function formatCost(locale: Locale, amount: Amount): string {
  const decimal = toDecimal(amount);
  const digits = isBelowCent(decimal) ? { maximumSignificantDigits: 4 } : { maximumFractionDigits: 4 };
  return numberFormat(locale, { ...currency, ...digits }).format(decimal);
}

export function formatNumber(locale: Locale, value: number | bigint): string {
  return numberFormat(locale, {}).format(value);
}

/** Shows numbers in full below 100,000 and compact from there on. */
export function formatCompact(locale: Locale, value: number | bigint): string {
  if (value < 100_000) return formatNumber(locale, value);
  return numberFormat(locale, { notation: 'compact', maximumFractionDigits: 1 }).format(value);
}

export function formatPercent(locale: Locale, ratio: number): string {
  const digits = Math.abs(ratio) < 0.1 ? 1 : 0;
  return numberFormat(locale, { style: 'percent', maximumFractionDigits: digits }).format(ratio);
}

/** The unit symbols are the same in every language; the number format is not. */
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

/** Uses British English, because `en` alone would put the month before the day. */
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
