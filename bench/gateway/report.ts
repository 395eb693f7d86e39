import { type Figure, held } from './figures';

const columns = [50, 7, 7, 10, 17, 8] as const;

const number = (value: number | undefined, digits = 2): string => (value === undefined ? '' : value.toFixed(digits));

export function line({ what, unit, measured, note, ...figure }: Figure): string {
  const { low, middle, high } = measured;
  const verdict = held({ what, unit, measured, ...figure });
  const cells = [
    what.padEnd(columns[0]),
    number(figure.must, figure.must !== undefined && figure.must >= 8 ? 0 : 2).padStart(columns[1]),
    number(figure.aim, figure.aim !== undefined && figure.aim >= 8 ? 0 : 2).padStart(columns[2]),
    `${number(middle)} ${unit}`.padStart(columns[3]),
    `${number(low)} … ${number(high)}`.padStart(columns[4]),
    (verdict === null ? '' : verdict ? 'held' : 'MISSED').padStart(columns[5]),
  ];
  return `${cells.join(' ')}  ${note ?? ''}`.trimEnd();
}
