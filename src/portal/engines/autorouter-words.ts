import type { Interval } from '../../kernel';
import { type Column, column } from '../../views';
import type { Localisation } from '../../web';

/** In these the router did not choose: it leaned on the reference model, or on what settings name instead. */
export const inDoubt: ReadonlySet<string> = new Set([
  'unfamiliar_request',
  'traffic_changed',
  'still_learning',
  'shadow_mode',
  'fallback',
  '',
]);

const percentOf =
  ({ locale }: Localisation) =>
  (ratio: number): string =>
    new Intl.NumberFormat(locale, {
      style: 'percent',
      signDisplay: 'exceptZero',
      maximumFractionDigits: 0,
    }).format(ratio);

/** The change is against the reference model, never against the dearest. */
export const changeText = (ratio: number, localisation: Localisation): string =>
  percentOf(localisation)(ratio - 1);

export const changeIntervalText = ({ value, low, high }: Interval, localisation: Localisation): string => {
  const shown = (ratio: number): string => changeText(ratio, localisation);
  return `${shown(value)} [${shown(low)}, ${shown(high)}]`;
};

/** The ends alone, for the line under a figure. */
export const rangeText = (
  { low, high }: Interval,
  shown: (value: number) => string,
  localisation: Localisation,
): string => localisation.translate('autorouter.range', { low: shown(low), high: shown(high) });

/** The figure never stands without its interval. */
export function intervalText(
  { value, low, high }: Interval,
  localisation: Localisation,
  isSigned = false,
): string {
  const shown = (figure: number): string =>
    isSigned ? signedText(figure, localisation) : decimalText(figure, localisation);
  return `${shown(value)} [${shown(low)}, ${shown(high)}]`;
}

export const decimalText = (value: number, { locale }: Localisation): string =>
  new Intl.NumberFormat(locale, { minimumFractionDigits: 1, maximumFractionDigits: 1 }).format(value);

export const signedText = (value: number, { locale }: Localisation): string =>
  new Intl.NumberFormat(locale, {
    minimumFractionDigits: 1,
    maximumFractionDigits: 1,
    signDisplay: 'exceptZero',
  }).format(value);

export const millisecondsText = (value: number, { locale }: Localisation): string =>
  `${new Intl.NumberFormat(locale, { signDisplay: 'exceptZero', maximumFractionDigits: 0 }).format(value)} ms`;

/** It has no sign: it says how long it took, not how much longer. */
export const durationText = ({ value, low, high }: Interval, { locale }: Localisation): string => {
  const shown = (ms: number): string =>
    new Intl.NumberFormat(locale, { maximumFractionDigits: 0 }).format(ms);
  return `${shown(value)} ms [${shown(Math.max(0, low))}, ${shown(high)}]`;
};

export const shareIntervalText = ({ value, low, high }: Interval, { locale }: Localisation): string => {
  const shown = (share: number): string =>
    new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 0 }).format(share);
  return `${shown(value)} [${shown(low)}, ${shown(high)}]`;
};

/** A column of intervals says so where there are too few data for one. */
export const intervalColumn = <Row>(
  label: string,
  of: (row: Row) => Interval | null,
  text: (interval: Interval, localisation: Localisation) => string,
  localisation: Localisation,
  ...marks: readonly 'minor'[]
): Column<Row> =>
  column(
    label,
    'text',
    (row) => {
      const interval = of(row);
      return interval === null ? localisation.translate('qualitative.too-few') : text(interval, localisation);
    },
    'end',
    ...marks,
  );

/** Shares of the scale are shown in points of a hundred. */
export const pointsText = ({ value, low, high }: Interval, localisation: Localisation): string =>
  intervalText({ value: value * 100, low: low * 100, high: high * 100 }, localisation);

export const costText = ({ value, low, high }: Interval, localisation: Localisation): string =>
  `${centsText(value, localisation)} [${centsText(Math.max(0, low), localisation)}, ${centsText(high, localisation)}]`;

/** Dollars of an answer, as exact as they are small. */
export const centsText = (nano: number, { locale }: Localisation): string =>
  new Intl.NumberFormat(locale, {
    style: 'currency',
    currency: 'USD',
    currencyDisplay: 'narrowSymbol',
    minimumSignificantDigits: 1,
    maximumSignificantDigits: 3,
  }).format(nano / 1e9);

export const pairsText = (count: number, { translate }: Localisation): string =>
  translate('autorouter.pairs', { count });

/** The four places with a name; between them a number alone. */
const named: Readonly<Record<number, string>> = {
  0: 'quality-alone',
  4: 'quality',
  5: 'balanced',
  7: 'economy',
  10: 'most-savings',
};

export function dialText(dial: number, { translate }: Pick<Localisation, 'translate'>): string {
  const name = named[dial];
  return name === undefined ? String(dial) : `${dial} · ${translate(`autorouter.dials.${name}`)}`;
}
