import { niceScale, ownSlots } from './chart';

/*
 * A point for each name, with the range it lies in both ways. Across it is placed in percent, so that it fits every
 * width; down in pixels. So words and circles inside keep their form, unlike in the charts of days.
 */
const plotHeight = 240;
const labelHeight = 16;
/** Labels whose points are nearer than this, in percent, may touch. */
const labelReach = 30;
const headroom = 0.06;

interface Range {
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

interface ScatterPoint {
  readonly name: string;
  readonly slot: number;
  readonly x: Range;
  readonly y: Range;
}

/** A stop of a path through the plot, such as a place of a dial. */
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

/** It is null where there is nothing to compare. */
export function scatterChart(input: ScatterInput): ScatterModel | null {
  const { points, path } = input;
  if (points.length < 2) return null;
  const across = acrossOf([
    ...points.flatMap(({ x }) => [x.low, x.value, x.high]),
    ...path.stops.map(({ x }) => x),
  ]);
  const down = downOf([...points.flatMap(({ y }) => [y.low, y.high]), ...path.stops.map(({ y }) => y)]);
  const slots = ownSlots(points);
  const stops = path.stops.map(({ label, x, y, current }) => ({
    x: across.place(x),
    y: down.place(y),
    current,
    label,
  }));
  const current = stops.find((stop) => stop.current);
  return {
    title: input.title,
    xLabel: input.xLabel,
    yLabel: input.yLabel,
    scale: down.ticks.map(input.formatY).reverse(),
    gridlines: down.ticks.map(down.place),
    ticks: across.ticks.map((tick) => tickAt(across.place(tick), input.formatX(tick))),
    points: labelled(
      points.map(({ name, slot, x, y }, index) => ({
        name,
        slot: slots[index] ?? slot,
        x: across.place(x.value),
        y: down.place(y.value),
        left: across.place(x.low),
        right: across.place(x.high),
        top: down.place(y.high),
        bottom: down.place(y.low),
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
  readonly place: (value: number) => number;
}

/** Costs differ by orders of magnitude: each tenfold is as wide as the next. */
function acrossOf(values: readonly number[]): Axis {
  const known = values.filter((value) => value > 0);
  const least = Math.min(...known);
  const [low, high] = [Math.log10(least), Math.log10(Math.max(...known))];
  const room = Math.max(0.15, (high - low) * headroom);
  const [from, to] = [low - room, high + room];
  const ticks: number[] = [];
  for (let power = Math.floor(from); power <= Math.ceil(to); power += 1)
    for (const digit of to - from < 1.2 ? [1, 2, 5] : [1]) {
      const tick = Number(`${digit}e${power}`);
      if (Math.log10(tick) >= from && Math.log10(tick) <= to) ticks.push(tick);
    }
  return {
    ticks,
    place: (value) => round(((Math.log10(Math.max(value, least)) - from) / (to - from)) * 100),
  };
}

/**
 * The scale lies between whole steps around what there is: differences show, and the scale says that it does not begin
 * at nought.
 */
function downOf(values: readonly number[]): Axis {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const step = niceScale(Math.max(high - low, 1e-9))[1] ?? 1;
  const first = Math.floor(low / step);
  const last = Math.max(first + 1, Math.ceil(high / step));
  const ticks = Array.from({ length: last - first + 1 }, (_, index) =>
    Number(((first + index) * step).toPrecision(12)),
  );
  const [from, to] = [first * step, last * step];
  return { ticks, place: (value) => round(plotHeight - ((value - from) / (to - from)) * plotHeight) };
}

const anchorAt = (x: number): string => (x < 8 ? 'start' : x > 92 ? 'end' : 'middle');
const tickAt = (x: number, label: string) => ({ x, label, anchor: anchorAt(x) });

type Placed = Omit<ScatterModel['points'][number], 'label'> & { readonly name: string };

/** A label stands beside its point, on the side with room; lower where another name stands already. */
function labelled(points: readonly Placed[]): ScatterModel['points'] {
  const taken: { x: number; y: number }[] = [];
  return [...points]
    .sort((one, other) => one.y - other.y)
    .map(({ name, ...point }) => {
      const near = taken.filter(({ x }) => Math.abs(x - point.x) < labelReach);
      const lowest = Math.max(-Infinity, ...near.map(({ y }) => y));
      const y = round(Math.max(point.y - 8, lowest + labelHeight));
      taken.push({ x: point.x, y });
      const isRight = point.x > 65;
      return { ...point, label: { text: name, y, anchor: isRight ? 'end' : 'start', dx: isRight ? -8 : 8 } };
    });
}
