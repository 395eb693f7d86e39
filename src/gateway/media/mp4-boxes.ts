export interface Mp4Box {
  readonly name: string;
  readonly start: number;
  readonly end: number;
  readonly inner: readonly Mp4Box[];
}

/** Thrown if two readers could interpret the file's audio differently. */
export class AmbiguousMp4Error extends Error {}

const containers = new Set([
  ...['moov', 'trak', 'edts', 'mdia', 'minf', 'stbl', 'dinf', 'mvex', 'moof', 'traf', 'udta', 'tref', 'sinf'],
]);
const MAX_BOXES = 200_000;
const MAX_DEPTH = 12;

export function readBoxes(file: Buffer): Mp4Box {
  let boxes = 0;
  const readRange = (start: number, end: number, depth: number): Mp4Box[] => {
    const children: Mp4Box[] = [];
    for (let at = start; at + 8 <= end;) {
      const box = boxAt(file, at, end);
      if (box === null) break;
      if ((boxes += 1) > MAX_BOXES || depth > MAX_DEPTH) throw new AmbiguousMp4Error('too many boxes');
      if (hidesHeader(file, box)) throw new AmbiguousMp4Error('a head that hides');
      const inner = containers.has(box.name) ? readRange(box.start, box.end, depth + 1) : [];
      children.push({ ...box, inner });
      at = box.end;
    }
    return children;
  };
  return { name: '', start: 0, end: file.length, inner: readRange(0, file.length, 0) };
}

export function boxAt(file: Buffer, at: number, end: number): Omit<Mp4Box, 'inner'> | null {
  if (at + 8 > end) return null;
  const size = file.readUInt32BE(at);
  const isLong = size === 1 && at + 16 <= end;
  const bytes = isLong ? Number(file.readBigUInt64BE(at + 8)) : size === 0 ? Infinity : size;
  const start = at + (isLong ? 16 : 8);
  if (at + bytes < start) return null;
  return { name: file.toString('latin1', at + 4, at + 8), start, end: Math.min(end, at + bytes) };
}

/** Some decoders read a header inside a free box, or decompress one. */
const hidesHeader = (file: Buffer, { name, start }: Omit<Mp4Box, 'inner'>): boolean =>
  name === 'cmov' ||
  ((name === 'free' || name === 'hoov') && file.toString('latin1', start + 4, start + 8) === 'moov');

export function* boxesOf(box: Mp4Box, name: string): Generator<Mp4Box> {
  for (const inner of box.inner) {
    if (inner.name === name) yield inner;
    yield* boxesOf(inner, name);
  }
}

export function onlyBox(box: Mp4Box, name: string): Mp4Box | null {
  const [first, second] = boxesOf(box, name);
  if (second !== undefined) throw new AmbiguousMp4Error(`two ${name}`);
  return first ?? null;
}
