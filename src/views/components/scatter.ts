import { niceScale, assignSlots } from './chart';

/*
 * Points with their range in both directions. X is in percent so that the plot fits every width; y is in pixels, so
 * that text and circles keep their shape.
 */
const plotHeight = 240;
const labelHeight = 16;
/** Horizontal distance in percent below which labels can overlap. */
const labelReachPercent = 30;
const headroom = 0.06;

interface PlotRange {
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

interface ScatterPoint {
  readonly name: string;
  readonly slot: number;
  readonly x: PlotRange;
  readonly y: PlotRange;
}

/** A stop of a path through the plot, such as a position of a dial. */
interface ScatterStop {
  readonly label: string;
  readonly x: number;
  readonly y: number;
  readonly current: boolean;
}

export interface ScatterInput {
  readonly title: string;
  readonly xLabel: string;
  readonly yLabel: string;
  readonly points: readonly ScatterPoint[];
  readonly path: { readonly name: string; readonly stops: readonly ScatterStop[] };
  readonly formatX: (value: number) => string;
  readonly formatY: (value: number) => string;
}

export interface ScatterModel {
  readonly title: string;
  readonly xLabel: string;
  readonly yLabel: string;
  readonly scale: readonly string[];
  readonly gridlines: readonly number[];
  readonly ticks: readonly { readonly x: number; readonly label: string; readonly anchor: string }[];
  readonly points: readonly {
    readonly slot: number;
    readonly x: number;
    readonly y: number;
    readonly left: number;
    readonly right: number;
    readonly top: number;
    readonly bottom: number;
    readonly label: {
      readonly text: string;
      readonly y: number;
      readonly anchor: string;
      readonly dx: number;
    };
  }[];
  readonly path: readonly { x1: number; y1: number; x2: number; y2: number }[];
  readonly stops: readonly { x: number; y: number; current: boolean; label: string }[];
  readonly pathName: string;
  readonly current: string | null;
}

const round = (value: number): number => Math.round(value * 100) / 100;

/** Returns null if there are fewer than two points to compare. */
export function scatterChart(input: ScatterInput): ScatterModel | null {
  const { points, path } = input;
  if (points.length < 2) return null;
  const xAxis = logAxis([
    ...points.flatMap(({ x }) => [x.low, x.value, x.high]),
    ...path.stops.map(({ x }) => x),
  ]);
  const yAxis = linearAxis([...points.flatMap(({ y }) => [y.low, y.high]), ...path.stops.map(({ y }) => y)]);
  const slots = assignSlots(points);
  const stops = path.stops.map(({ label, x, y, current }) => ({
    x: xAxis.position(x),
    y: yAxis.position(y),
    current,
    label,
  }));
  const current = stops.find((stop) => stop.current);
  return {
    title: input.title,
    xLabel: input.xLabel,
    yLabel: input.yLabel,
    scale: yAxis.ticks.map(input.formatY).reverse(),
    gridlines: yAxis.ticks.map(yAxis.position),
    ticks: xAxis.ticks.map((tick) => tickAt(xAxis.position(tick), input.formatX(tick))),
    points: placeLabels(
      points.map(({ name, slot, x, y }, index) => ({
        name,
        slot: slots[index] ?? slot,
        x: xAxis.position(x.value),
        y: yAxis.position(y.value),
        left: xAxis.position(x.low),
        right: xAxis.position(x.high),
        top: yAxis.position(y.high),
        bottom: yAxis.position(y.low),
      })),
    ),
    path: stops.slice(1).flatMap((stop, index) => {
      const from = stops[index];
      return from === undefined ? [] : [{ x1: from.x, y1: from.y, x2: stop.x, y2: stop.y }];
    }),
    stops,
    pathName: path.name,
    current: current?.label ?? null,
  };
}

interface Axis {
  readonly ticks: readonly number[];
  readonly position: (value: number) => number;
}

/** Logarithmic axis, because costs differ by orders of magnitude. */
function logAxis(values: readonly number[]): Axis {
  const positiveValues = values.filter((value) => value > 0);
  const minimum = Math.min(...positiveValues);
  const [low, high] = [Math.log10(minimum), Math.log10(Math.max(...positiveValues))];
  const margin = Math.max(0.15, (high - low) * headroom);
  const [from, to] = [low - margin, high + margin];
  const ticks: number[] = [];
  for (let power = Math.floor(from); power <= Math.ceil(to); power += 1)
    for (const digit of to - from < 1.2 ? [1, 2, 5] : [1]) {
      const tick = Number(`${digit}e${power}`);
      if (Math.log10(tick) >= from && Math.log10(tick) <= to) ticks.push(tick);
    }
  return {
    ticks,
    position: (value) => round(((Math.log10(Math.max(value, minimum)) - from) / (to - from)) * 100),
  };
}

/**
 * Linear axis between whole steps around the values. The axis does not start at zero, so that differences are visible.
 */
function linearAxis(values: readonly number[]): Axis {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const step = niceScale(Math.max(high - low, 1e-9))[1] ?? 1;
  const first = Math.floor(low / step);
  const last = Math.max(first + 1, Math.ceil(high / step));
  const ticks = Array.from({ length: last - first + 1 }, (_, index) =>
    Number(((first + index) * step).toPrecision(12)),
  );
  const [from, to] = [first * step, last * step];
  return { ticks, position: (value) => round(plotHeight - ((value - from) / (to - from)) * plotHeight) };
}

const anchorAt = (x: number): string => (x < 8 ? 'start' : x > 92 ? 'end' : 'middle');
const tickAt = (x: number, label: string) => ({ x, label, anchor: anchorAt(x) });

type PositionedPoint = Omit<ScatterModel['points'][number], 'label'> & { readonly name: string };

/** Puts each label on the side of its point with more space, and lower if another label is already there. */
function placeLabels(points: readonly PositionedPoint[]): ScatterModel['points'] {
  const placedLabels: { x: number; y: number }[] = [];
  return [...points]
    .sort((one, other) => one.y - other.y)
    .map(({ name, ...point }) => {
      const neighbours = placedLabels.filter(({ x }) => Math.abs(x - point.x) < labelReachPercent);
      const lowest = Math.max(-Infinity, ...neighbours.map(({ y }) => y));
      const y = round(Math.max(point.y - 8, lowest + labelHeight));
      placedLabels.push({ x: point.x, y });
      const isRight = point.x > 65;
      return { ...point, label: { text: name, y, anchor: isRight ? 'end' : 'start', dx: isRight ? -8 : 8 } };
    });
}
