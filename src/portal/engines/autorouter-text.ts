import type { Interval } from '../../kernel';
import { type TableColumn, column } from '../../views';
import type { Localisation } from '../../web';

/** Reasons with which the router fell back to the reference model or to one from the settings. */
export const undecidedReasons: ReadonlySet<string> = new Set([
  'unfamiliar_request',
  'traffic_changed',
  'still_learning',
  'shadow_mode',
  'fallback',
  '',
]);

const percentFormatter =
  ({ locale }: Localisation) =>
  (ratio: number): string =>
    new Intl.NumberFormat(locale, {
      style: 'percent',
      signDisplay: 'exceptZero',
      maximumFractionDigits: 0,
    }).format(ratio);

/** Change compared to the reference model. */
export const changeText = (ratio: number, localisation: Localisation): string =>
  percentFormatter(localisation)(ratio - 1);

export const changeIntervalText = ({ value, low, high }: Interval, localisation: Localisation): string => {
  const format = (ratio: number): string => changeText(ratio, localisation);
  return `${format(value)} [${format(low)}, ${format(high)}]`;
};

/** The interval without its value, for the note of a figure. */
export const rangeText = (
  { low, high }: Interval,
  format: (value: number) => string,
  localisation: Localisation,
): string => localisation.translate('autorouter.range', { low: format(low), high: format(high) });

export function intervalText(
  { value, low, high }: Interval,
  localisation: Localisation,
  isSigned = false,
): string {
  const format = (figure: number): string =>
    isSigned ? signedText(figure, localisation) : decimalText(figure, localisation);
  return `${format(value)} [${format(low)}, ${format(high)}]`;
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

/** Unsigned, as the value is a duration and not a difference. */
export const durationText = ({ value, low, high }: Interval, { locale }: Localisation): string => {
  const format = (ms: number): string =>
    new Intl.NumberFormat(locale, { maximumFractionDigits: 0 }).format(ms);
  return `${format(value)} ms [${format(Math.max(0, low))}, ${format(high)}]`;
};

export const shareIntervalText = ({ value, low, high }: Interval, { locale }: Localisation): string => {
  const format = (share: number): string =>
    new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 0 }).format(share);
  return `${format(value)} [${format(low)}, ${format(high)}]`;
};

/** A column of intervals, with a note for rows with too little data. */
export const intervalColumn = <Row>(
  label: string,
  intervalOf: (row: Row) => Interval | null,
  text: (interval: Interval, localisation: Localisation) => string,
  localisation: Localisation,
  ...marks: readonly 'minor'[]
): TableColumn<Row> =>
  column(
    label,
    'text',
    (row) => {
      const interval = intervalOf(row);
      return interval === null ? localisation.translate('qualitative.too-few') : text(interval, localisation);
    },
    'end',
    ...marks,
  );

/** Converts shares to points out of 100. */
export const pointsText = ({ value, low, high }: Interval, localisation: Localisation): string =>
  intervalText({ value: value * 100, low: low * 100, high: high * 100 }, localisation);

export const costText = ({ value, low, high }: Interval, localisation: Localisation): string =>
  `${costAmountText(value, localisation)} [${costAmountText(Math.max(0, low), localisation)}, ${costAmountText(high, localisation)}]`;

export const costAmountText = (nano: number, { locale }: Localisation): string =>
  new Intl.NumberFormat(locale, {
    style: 'currency',
    currency: 'USD',
    currencyDisplay: 'narrowSymbol',
    minimumSignificantDigits: 1,
    maximumSignificantDigits: 3,
  }).format(nano / 1e9);

export const pairsText = (count: number, { translate }: Localisation): string =>
  translate('autorouter.pairs', { count });

const namedDials: Readonly<Record<number, string>> = {
  0: 'quality-alone',
  4: 'quality',
  5: 'balanced',
  7: 'economy',
  10: 'most-savings',
};

export function dialText(dial: number, { translate }: Pick<Localisation, 'translate'>): string {
  const name = namedDials[dial];
  return name === undefined ? String(dial) : `${dial} · ${translate(`autorouter.dials.${name}`)}`;
}
