import type { HelperDelegate, HelperOptions, SafeString } from 'handlebars';
import type { AssetResolver } from './assets';
import { formHelpers } from './form-helpers';
import {
  formatCompact,
  formatCost,
  formatLatency,
  formatMoney,
  formatNumber,
  formatPercent,
  formatTime,
  type Amount,
  type TimeStyle,
} from './formatting';
import { dataOf, escape, safe } from './render-data';
import { withExtensionTexts } from './translations';
import type { ViewContext } from './view-context';

const isAbsent = (value: unknown): value is null | undefined | '' =>
  value === null || value === undefined || value === '';

/** Shown for a missing figure, which must not look like zero. */
const dash = '–';

type Format<Value> = (view: ViewContext, value: Value) => string;

function figureHelper<Value>(format: Format<Value>): HelperDelegate {
  return (value: Value, options: HelperOptions) =>
    isAbsent(value) ? dash : format(dataOf(options).view, value);
}

function compact(value: number | bigint, options: HelperOptions): string | SafeString {
  if (isAbsent(value)) return dash;
  const { locale } = dataOf(options).view;
  const full = formatNumber(locale, value);
  const short = formatCompact(locale, value);
  if (full === short) return full;
  return safe(`<data value="${value}" title="${escape(full)}">${escape(short)}</data>`);
}

function time(value: Date | string, style: TimeStyle, options: HelperOptions): string | SafeString {
  if (isAbsent(value)) return dash;
  const { locale, timeZone } = dataOf(options).view;
  const instant = new Date(value);
  const text = formatTime(locale, timeZone, instant, style);
  const inUtc = `${formatTime(locale, 'UTC', instant, 'full')} UTC`;
  const iso = instant.toISOString();
  return safe(`<time datetime="${iso}" title="${escape(inUtc)}">${escape(text)}</time>`);
}

/**
 * `{{url page="2"}}` changes the query of the current page; `{{url "/keys" status="active"}}` builds another address.
 * An empty value removes a parameter.
 */
function url(...input: unknown[]): string {
  const options = input.at(-1) as HelperOptions;
  const { view } = dataOf(options);
  const target = input.length > 1 ? String(input[0]) : undefined;
  const query = new URLSearchParams(target === undefined ? view.query : {});
  for (const [name, value] of Object.entries(options.hash as Record<string, string | number | null>)) {
    if (isAbsent(value)) query.delete(name);
    else query.set(name, String(value));
  }
  const search = query.toString();
  return (target ?? view.path) + (search ? `?${search}` : '');
}

/** Allows line breaks in long words after these characters. `<wbr>` is neither copied nor read out. */
const breakable = (text: string): SafeString => safe(escape(text).replaceAll(/[_/@]/g, '$&<wbr>'));

function translate(key: string, options: HelperOptions): string {
  return dataOf(options).translate(key, options.hash as Record<string, unknown>);
}

/** Implementation of `t` in templates of extensions. */
const ownText = (extension: string, key: string, options: HelperOptions): string =>
  withExtensionTexts(extension, dataOf(options).translate)(key, options.hash as Record<string, unknown>);

function section(this: unknown, name: string, options: HelperOptions): string {
  dataOf(options).sections[name] = safe(options.fn(this).trim());
  return '';
}

const values = (input: unknown[]): unknown[] => input.slice(0, -1);

const money = figureHelper<Amount>((view, amount) => formatMoney(view.locale, amount));
const cost = figureHelper<Amount>((view, amount) => formatCost(view.locale, amount));
const number = figureHelper<number | bigint>((view, value) => formatNumber(view.locale, value));
const percent = figureHelper<number>((view, ratio) => formatPercent(view.locale, ratio));
const latency = figureHelper<number>((view, milliseconds) => formatLatency(view.locale, milliseconds));

const timeIn =
  (style: TimeStyle): HelperDelegate =>
  (value: Date | string, options: HelperOptions) =>
    time(value, style, options);

/** Figures that need no template markup. Formatting them here is faster, as a log page shows over a thousand. */
const inlineFormats = new Map<unknown, HelperDelegate>(
  Object.entries({
    ...{ money, cost, number, compact, percent, latency },
    ...{ time: timeIn('minute'), clock: timeIn('second'), date: timeIn('date') },
    text: (value: unknown) => value,
  }),
);

/** Helpers known to the compiler; a template that calls any other fails when it is loaded. */
export function createHelpers(asset: AssetResolver): Record<string, HelperDelegate> {
  return {
    t: translate,
    ownText,
    ...formHelpers,
    money,
    cost,
    number,
    percent,
    latency,
    compact,
    isWritten: (kind: unknown) => inlineFormats.has(kind),
    written: (kind: unknown, value: unknown, options: HelperOptions): unknown =>
      inlineFormats.get(kind)?.(value, options),
    time,
    url,
    section,
    breakable,
    asset: (name: string) => asset(name),
    icon: (name: string) =>
      safe(
        `<svg class="icon" aria-hidden="true" focusable="false"><use href="${asset('icons.svg')}#${escape(name)}"/></svg>`,
      ),
    eq: (left: unknown, right: unknown) => left === right,
    and: (...input: unknown[]) => values(input).every(Boolean),
    or: (...input: unknown[]) => values(input).find(Boolean),
    not: (value: unknown) => !value,
    list: (...input: unknown[]) => values(input),
    object: (options: HelperOptions) => options.hash as object,
    join: (...input: unknown[]) => values(input).join(''),
    json: (value: unknown) => JSON.stringify(value),
  };
}
