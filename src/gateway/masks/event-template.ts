import type { OpenText } from './event-masks';

type TemplateHole = 'piece' | 'number' | 'any';

/** Variable parts without text for the caller. */
const OTHER_HOLES: readonly { readonly kind: TemplateHole; readonly pattern: RegExp }[] = [
  { kind: 'number', pattern: /(?<="sequence_number": ?)\d+/g },
  { kind: 'any', pattern: /(?<="obfuscation": ?")[^"]*/g },
];
/** A value with such a character is escaped, or ends the line. */
const ESCAPED_OR_LINE_END = /[\\\n\r]/;

interface TemplateMatch {
  readonly end: number;
  readonly piece: string;
  readonly number: string;
}

/**
 * Most events of a stream differ from the previous one only in a piece of text and a number. A template matches such
 * events by their bytes, without parsing JSON.
 */
export class EventTemplate {
  private readonly values: string[] = [];

  private constructor(
    readonly open: OpenText,
    private readonly literals: readonly string[],
    private readonly holes: readonly TemplateHole[],
  ) {}

  /** Template of an event in which this piece is the only text; null if its spelling is ambiguous. */
  static of(event: string, open: OpenText, piece: string): EventTemplate | null {
    const name = `"${open.name}"`;
    if (event.includes('\\') || event.indexOf(name) !== event.lastIndexOf(name)) return null;
    const ranges: { readonly kind: TemplateHole; readonly start: number; readonly end: number }[] = [];
    for (const separator of [':"', ': "']) {
      const index = event.indexOf(`${name}${separator}${piece}"`);
      const start = index + name.length + separator.length;
      if (index !== -1) ranges.push({ kind: 'piece', start, end: start + piece.length });
    }
    if (ranges.length !== 1) return null;
    for (const { kind, pattern } of OTHER_HOLES) {
      const matches = [...event.matchAll(pattern)];
      if (matches.length > 1) return null;
      for (const { index, 0: value } of matches)
        ranges.push({ kind, start: index, end: index + value.length });
    }
    ranges.sort((one, other) => one.start - other.start);
    const ends = [0, ...ranges.map(({ end }) => end)];
    const literals = ends.map((from, index) => flatten(event.slice(from, ranges[index]?.start)));
    return new EventTemplate(
      open,
      literals,
      ranges.map(({ kind }) => kind),
    );
  }

  match(text: string, from: number): TemplateMatch | null {
    const { literals, holes, values } = this;
    let position = from;
    let piece = '';
    let number = '';
    for (let holeIndex = 0; ; holeIndex += 1) {
      const literal = literals[holeIndex]!;
      if (!text.startsWith(literal, position)) return null;
      position += literal.length;
      if (holeIndex === holes.length) return { end: position, piece, number };
      const start = position;
      if (holes[holeIndex] === 'number') while (isDigit(text.charCodeAt(position))) position += 1;
      else position = text.indexOf('"', start);
      if (position === -1) return null;
      const value = text.slice(start, position);
      if (holes[holeIndex] === 'number') number = value;
      else if (ESCAPED_OR_LINE_END.test(value)) return null;
      else if (holes[holeIndex] === 'piece') piece = value;
      values[holeIndex] = value;
    }
  }

  print(piece: string, number: number): string {
    const { literals, holes, values } = this;
    let text = literals[0]!;
    for (const [index, hole] of holes.entries()) {
      if (hole === 'piece') text += JSON.stringify(piece).slice(1, -1);
      else text += hole === 'number' ? number : values[index]!;
      text += literals[index + 1]!;
    }
    return text;
  }
}

/** A copied string is compared faster than a slice of another string. */
const flatten = (text: string): string => Buffer.from(text).toString();

const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39;
