import type { OpenText } from './event-masks';

type Hole = 'piece' | 'number' | 'any';

/** A hole of these has no text that its caller reads. */
const OTHER_HOLES: readonly { readonly kind: Hole; readonly pattern: RegExp }[] = [
  { kind: 'number', pattern: /(?<="sequence_number": ?)\d+/g },
  { kind: 'any', pattern: /(?<="obfuscation": ?")[^"]*/g },
];
/** A value with one of them is not spelt as it reads, or ends the line. */
const ODD = /[\\\n\r]/;

interface Match {
  readonly end: number;
  readonly piece: string;
  readonly number: string;
}

/**
 * Most events of a stream differ from the one before in a piece of text, and in a number at most. Those are told by
 * their bytes, without reading their JSON.
 */
export class EventTemplate {
  private readonly values: string[] = [];

  private constructor(
    readonly open: OpenText,
    private readonly literals: readonly string[],
    private readonly holes: readonly Hole[],
  ) {}

  /** The template of an event in which this piece is the only text; null where its spelling leaves a doubt. */
  static of(event: string, open: OpenText, piece: string): EventTemplate | null {
    const name = `"${open.name}"`;
    if (event.includes('\\') || event.indexOf(name) !== event.lastIndexOf(name)) return null;
    const places: { readonly kind: Hole; readonly start: number; readonly end: number }[] = [];
    for (const between of [':"', ': "']) {
      const at = event.indexOf(`${name}${between}${piece}"`);
      const start = at + name.length + between.length;
      if (at !== -1) places.push({ kind: 'piece', start, end: start + piece.length });
    }
    if (places.length !== 1) return null;
    for (const { kind, pattern } of OTHER_HOLES) {
      const found = [...event.matchAll(pattern)];
      if (found.length > 1) return null;
      for (const { index, 0: value } of found) places.push({ kind, start: index, end: index + value.length });
    }
    places.sort((one, other) => one.start - other.start);
    const ends = [0, ...places.map(({ end }) => end)];
    const literals = ends.map((from, place) => flat(event.slice(from, places[place]?.start)));
    return new EventTemplate(
      open,
      literals,
      places.map(({ kind }) => kind),
    );
  }

  /** The event that begins at a place of a text; null where it is another. */
  match(text: string, from: number): Match | null {
    const { literals, holes, values } = this;
    let at = from;
    let piece = '';
    let number = '';
    for (let place = 0; ; place += 1) {
      const literal = literals[place]!;
      if (!text.startsWith(literal, at)) return null;
      at += literal.length;
      if (place === holes.length) return { end: at, piece, number };
      const start = at;
      if (holes[place] === 'number') while (isDigit(text.charCodeAt(at))) at += 1;
      else at = text.indexOf('"', start);
      if (at === -1) return null;
      const value = text.slice(start, at);
      if (holes[place] === 'number') number = value;
      else if (ODD.test(value)) return null;
      else if (holes[place] === 'piece') piece = value;
      values[place] = value;
    }
  }

  /** The event that was matched last, with another piece and another number. */
  written(piece: string, number: number): string {
    const { literals, holes, values } = this;
    let text = literals[0]!;
    for (const [place, hole] of holes.entries()) {
      if (hole === 'piece') text += JSON.stringify(piece).slice(1, -1);
      else text += hole === 'number' ? number : values[place]!;
      text += literals[place + 1]!;
    }
    return text;
  }
}

/** A text of its own is compared faster than a part of another. */
const flat = (text: string): string => Buffer.from(text).toString();

const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39;
