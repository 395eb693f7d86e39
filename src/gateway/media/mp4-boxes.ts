/** A box of an MP4: its name, where its contents begin and end, and the boxes among them. */
export interface Box {
  readonly name: string;
  readonly start: number;
  readonly end: number;
  readonly inner: readonly Box[];
}

/** Thrown where the file tells of its sound in a way that two readers could understand in two ways. */
export class Contradiction extends Error {}

/** Boxes that decoders look into, wherever they lie. */
const containers = new Set([
  ...['moov', 'trak', 'edts', 'mdia', 'minf', 'stbl', 'dinf', 'mvex', 'moof', 'traf', 'udta', 'tref', 'sinf'],
]);
const MOST_BOXES = 200_000;
const MOST_DEPTH = 12;

/** All boxes of the file, as those of one that holds them. */
export function readBoxes(file: Buffer): Box {
  let boxes = 0;
  const within = (start: number, end: number, depth: number): Box[] => {
    const found: Box[] = [];
    for (let at = start; at + 8 <= end;) {
      const box = boxAt(file, at, end);
      if (box === null) break;
      if ((boxes += 1) > MOST_BOXES || depth > MOST_DEPTH) throw new Contradiction('too many boxes');
      if (isHidden(file, box)) throw new Contradiction('a head that hides');
      const inner = containers.has(box.name) ? within(box.start, box.end, depth + 1) : [];
      found.push({ ...box, inner });
      at = box.end;
    }
    return found;
  };
  return { name: '', start: 0, end: file.length, inner: within(0, file.length, 0) };
}

/** The box at `at`, as far as its surroundings go. */
export function boxAt(file: Buffer, at: number, end: number): Omit<Box, 'inner'> | null {
  if (at + 8 > end) return null;
  const told = file.readUInt32BE(at);
  const isLong = told === 1 && at + 16 <= end;
  const bytes = isLong ? Number(file.readBigUInt64BE(at + 8)) : told === 0 ? Infinity : told;
  const start = at + (isLong ? 16 : 8);
  if (at + bytes < start) return null;
  return { name: file.toString('latin1', at + 4, at + 8), start, end: Math.min(end, at + bytes) };
}

/** Some decoders take a head out of what is said to be free, or unpack one. */
const isHidden = (file: Buffer, { name, start }: Omit<Box, 'inner'>): boolean =>
  name === 'cmov' ||
  ((name === 'free' || name === 'hoov') && file.toString('latin1', start + 4, start + 8) === 'moov');

/** Every box of the name below another. */
export function* boxesOf(box: Box, name: string): Generator<Box> {
  for (const inner of box.inner) {
    if (inner.name === name) yield inner;
    yield* boxesOf(inner, name);
  }
}

/** The one box of the name; null where there is none. */
export function onlyBox(box: Box, name: string): Box | null {
  const [first, second] = boxesOf(box, name);
  if (second !== undefined) throw new Contradiction(`two ${name}`);
  return first ?? null;
}
