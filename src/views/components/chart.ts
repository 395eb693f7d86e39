import type { MeterModel, TableModel, Tone } from './models';

/**
 * Charts are server-rendered SVG in a box of 1000 × 180 that stretches with the page. Text stays outside the box so
 * that it is not stretched; each chart includes its figures as a table.
 */
const plotWidth = 1000;
const plotHeight = 180;
const seriesSlots = 8;

export interface ChartSeries {
  name: string;
  values: number[];
  /** Fixes the colour of a name, whatever its neighbours are; see `slotOf`. */
  slot?: number;
}

export interface ChartInput {
  title: string;
  /** Labels of the points, in order: days, hours or names along the axis. */
  labels: string[];
  series: ChartSeries[];
  format: (value: number) => string;
  /** Null if the sum of the series is meaningless. */
  totalLabel: string | null;
  pointLabel: string;
  /** For counts: the scale has no fractional lines. */
  isCount?: boolean;
}

const scaleOf = ({ isCount: whole }: ChartInput, highest: number): number[] =>
  niceScale(highest, whole === true ? 1 : 0);

export interface ChartModel {
  title: string;
  summary: string;
  legend: { name: string; slot: number }[];
  scale: string[];
  gridlines: number[];
  axis: string[];
  bars: { slot: number; x: number; y: number; width: number; height: number }[];
  lines: { slot: number; points: string }[];
  last: number;
  readouts: string[];
  table: TableModel;
}

const round = (value: number): number => Math.round(value * 100) / 100;

/** Returns the colour slot of a name, which is the same on every page. */
export function slotOf(name: string): number {
  let hash = 0;
  for (const character of name) hash = (hash * 31 + (character.codePointAt(0) ?? 0)) >>> 0;
  return (hash % (seriesSlots - 1)) + 1;
}

/** Resolves collisions: the later of two series with one colour gets the next free slot. */
export function assignSlots(series: readonly { readonly slot?: number }[]): number[] {
  const taken = new Set<number>();
  return series.map(({ slot }, index) => {
    const preferred = slot ?? (index % seriesSlots) + 1;
    const candidates = Array.from(
      { length: seriesSlots },
      (_, step) => ((preferred - 1 + step) % seriesSlots) + 1,
    );
    const assigned = candidates.find((candidate) => !taken.has(candidate)) ?? preferred;
    taken.add(assigned);
    return assigned;
  });
}

/** Returns the ticks of the scale: steps of 1, 2 or 5 times a power of ten, three to five lines. */
export function niceScale(maximum: number, smallestStep = 0): number[] {
  if (!(maximum > 0)) return [0, 1];
  const magnitude = Math.max(10 ** Math.floor(Math.log10(maximum / 3)), smallestStep);
  const step =
    [1, 2, 5, 10].map((factor) => factor * magnitude).find((size) => maximum / size <= 4) ?? maximum;
  // Tolerates rounding errors of the division.
  const steps = Math.ceil(maximum / step - 1e-9);
  return Array.from({ length: steps + 1 }, (_, index) => Number((index * step).toPrecision(12)));
}

/** Labels the first, middle and last point; more labels could overlap. */
function axisLabels(labels: string[]): string[] {
  const positions = new Set([0, Math.floor((labels.length - 1) / 2), labels.length - 1]);
  return [...positions].flatMap((position) => labels[position] ?? []);
}

const sumAt = (series: ChartSeries[], index: number): number =>
  series.reduce((sum, { values }) => sum + (values[index] ?? 0), 0);

function frame(input: ChartInput, highest: number): Omit<ChartModel, 'bars' | 'lines'> {
  const { title, labels, series, format } = input;
  const ticks = scaleOf(input, highest);
  const top = ticks.at(-1) ?? 1;
  const slots = assignSlots(series);
  const legend = series.map(({ name }, index) => ({ name, slot: slots[index] ?? 1 }));
  const readouts = labels.map((label, index) => {
    const parts = series.map(({ name, values }) => `${name} ${format(values[index] ?? 0)}`);
    return `${label}: ${parts.join(' · ')}`;
  });
  return {
    title,
    summary: `${title}: ${labels[0] ?? ''} – ${labels.at(-1) ?? ''}`,
    legend,
    scale: ticks.map(format).reverse(),
    gridlines: ticks.map((tick) => round(plotHeight - (tick / top) * plotHeight)),
    axis: axisLabels(labels),
    last: Math.max(0, labels.length - 1),
    readouts,
    table: chartTable(input),
  };
}

function chartTable({ title, labels, series, format, totalLabel, pointLabel }: ChartInput): TableModel {
  const sum = series.length > 1 ? totalLabel : null;
  return {
    caption: title,
    compact: true,
    columns: [
      { label: pointLabel },
      ...series.map(({ name }) => ({ label: name, align: 'end' as const })),
      ...(sum === null ? [] : [{ label: sum, align: 'end' as const }]),
    ],
    rows: labels.map((label, index) => ({
      cells: [
        { kind: 'text', value: label, heading: true },
        ...[
          ...series.map(({ values }) => values[index] ?? 0),
          ...(sum === null ? [] : [sumAt(series, index)]),
        ].map((value) => ({ kind: 'text' as const, value: format(value), align: 'end' as const })),
      ],
    })),
    empty: { title, text: '–' },
  };
}

/** Stacked bars with a gap between the segments, so that they are not told apart by colour alone. */
export function barChart(input: ChartInput): ChartModel {
  const highest = Math.max(0, ...input.labels.map((_, index) => sumAt(input.series, index)));
  const base = frame(input, highest);
  const top = scaleOf(input, highest).at(-1) ?? 1;
  const slotWidth = plotWidth / Math.max(1, input.labels.length);
  const gap = 1;
  const bars = input.labels.flatMap((_, index) => {
    let stacked = 0;
    return input.series.flatMap(({ values }, position) => {
      const value = values[index] ?? 0;
      const height = (value / top) * plotHeight;
      stacked += height;
      const visibleHeight = round(height - gap);
      if (visibleHeight <= 0) return [];
      return [
        {
          slot: base.legend[position]?.slot ?? 1,
          x: round(index * slotWidth + slotWidth * 0.15),
          y: round(plotHeight - stacked + gap),
          width: round(slotWidth * 0.7),
          height: visibleHeight,
        },
      ];
    });
  });
  return { ...base, bars, lines: [] };
}

export function lineChart(input: ChartInput): ChartModel {
  const highest = Math.max(0, ...input.series.flatMap(({ values }) => values));
  const base = frame(input, highest);
  const top = scaleOf(input, highest).at(-1) ?? 1;
  const slotWidth = plotWidth / Math.max(1, input.labels.length);
  const lines = input.series.map(({ values }, position) => ({
    slot: base.legend[position]?.slot ?? 1,
    points: values
      .map(
        (value, index) =>
          `${round((index + 0.5) * slotWidth)},${round(plotHeight - (value / top) * plotHeight)}`,
      )
      .join(' '),
  }));
  return { ...base, bars: [], lines };
}

export function spark(values: number[]): { points: string } {
  const highest = Math.max(...values, 0) || 1;
  const step = 100 / Math.max(1, values.length - 1);
  return {
    points: values
      .map((value, index) => `${round(index * step)},${round(23 - (value / highest) * 22)}`)
      .join(' '),
  };
}

/** Thresholds, in percent, at which users are notified. */
const meterTicks = [50, 80, 100] as const;

export function meter(input: {
  label: string;
  used: bigint;
  limit: bigint;
  text: string;
  note?: string;
}): MeterModel {
  const { label, used, limit, text, note } = input;
  const filled = limit <= 0n || used >= limit ? 100 : Number((used * 100n) / limit);
  const tone: Tone = filled >= 100 ? 'bad' : filled >= 80 ? 'warn' : 'neutral';
  return { label, filled: Math.max(0, filled), text, note, tone, ticks: meterTicks };
}
