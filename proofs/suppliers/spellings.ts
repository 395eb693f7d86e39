import { frame } from '../../test/support/frames';
import type { SeededRandom } from '../../test/system/seeded-random';
import type { RecordedEvent } from './recordings';

/** A legal way to write JSON and its events. */
export interface JsonSpelling {
  readonly colon: string;
  readonly comma: string;
  readonly indent: string;
  readonly order: 'given' | 'reversed' | 'sorted';
  readonly escapes: 'none' | 'values' | 'names' | 'all';
  readonly slashes: boolean;
  readonly lineEnd: '\n' | '\r\n' | '\r';
  readonly gap: string;
  readonly trailing: string;
  readonly comments: boolean;
  readonly fields: boolean;
  readonly lines: boolean;
}

export const plain: JsonSpelling = {
  colon: ':',
  comma: ',',
  indent: '',
  order: 'given',
  escapes: 'none',
  slashes: false,
  lineEnd: '\n',
  gap: ' ',
  trailing: '',
  comments: false,
  fields: false,
  lines: false,
};

/** Python's default style, every variation on its own, and random mixtures. */
export function spellings(chance: SeededRandom, mixtures: number): JsonSpelling[] {
  const singleVariations: Partial<JsonSpelling>[] = [
    { colon: ': ', comma: ', ' },
    { colon: ' : ', comma: ' , ' },
    { indent: '  ', colon: ': ' },
    { order: 'reversed' },
    { order: 'sorted' },
    { escapes: 'values' },
    { escapes: 'names' },
    { escapes: 'all' },
    { slashes: true },
    { lineEnd: '\r\n' },
    { lineEnd: '\r' },
    { gap: '' },
    { gap: '  ' },
    { trailing: '  ' },
    { comments: true },
    { fields: true },
    { lines: true },
  ];
  const mixedVariations = Array.from({ length: mixtures }, (): Partial<JsonSpelling> => ({
    colon: chance.pick([':', ': ', ' :']),
    comma: chance.pick([',', ', ', ' ,']),
    indent: chance.pick(['', '', '  ', '\t']),
    order: chance.pick(['given', 'reversed', 'sorted'] as const),
    escapes: chance.pick(['none', 'values', 'names', 'all'] as const),
    slashes: chance.flip(),
    lineEnd: chance.pick(['\n', '\r\n', '\r'] as const),
    gap: chance.pick(['', ' ']),
    trailing: chance.pick(['', '', ' ']),
    comments: chance.flip(0.3),
    fields: chance.flip(0.3),
    lines: chance.flip(0.3),
  }));
  return [...singleVariations, ...mixedVariations].map((some) => ({ ...plain, ...some }));
}

export function serialise(value: unknown, spelling: JsonSpelling, depth = 0): string {
  if (typeof value === 'string') return quote(value, spelling, 'values');
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const { indent, lines, comma } = spelling;
  const lineBreak = indent !== '' ? `\n${indent.repeat(depth + 1)}` : lines ? '\n' : '';
  const closingBreak = indent !== '' ? `\n${indent.repeat(depth)}` : lines ? '\n' : '';
  const items = Array.isArray(value)
    ? value.map((item: unknown) => serialise(item, spelling, depth + 1))
    : membersOf(value, spelling).map(
        ([name, held]) =>
          `${quote(name, spelling, 'names')}${spelling.colon}${serialise(held, spelling, depth + 1)}`,
      );
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  return items.length === 0
    ? `${open}${close}`
    : `${open}${lineBreak}${items.join(comma + lineBreak)}${closingBreak}${close}`;
}

function membersOf(value: object, { order }: JsonSpelling): [string, unknown][] {
  const members = Object.entries(value).filter(([, held]) => held !== undefined);
  if (order === 'reversed') return members.reverse();
  return order === 'sorted' ? members.sort(([one], [other]) => (one < other ? -1 : 1)) : members;
}

function quote(text: string, { escapes, slashes }: JsonSpelling, position: 'values' | 'names'): string {
  const json = JSON.stringify(text);
  const isEscaped = escapes === 'all' || escapes === position;
  const escaped = isEscaped
    ? `"${Array.from({ length: text.length }, (_, at) => unicode(text.charCodeAt(at))).join('')}"`
    : json;
  return slashes ? escaped.replaceAll('/', '\\/') : escaped;
}

const unicode = (code: number): string => `\\u${code.toString(16).padStart(4, '0')}`;

/** Writes one piece per event, with the whitespace and comments before it. */
export function writtenEvents(events: readonly RecordedEvent[], spelling: JsonSpelling): Buffer[] {
  const { lineEnd, gap, trailing, comments, fields } = spelling;
  return events.map(({ event, data }, at) => {
    const text = typeof data === 'string' ? data : serialise(data, spelling);
    const lines = [
      ...(comments ? [': a comment', ''] : []),
      ...(fields ? [`id: ${at}`, 'retry: 10', 'x-unknown: 1'] : []),
      ...(event === null ? (fields ? ['event: message'] : []) : [`event:${gap}${event}`]),
      ...text.split('\n').map((line) => `data:${gap}${line}${trailing}`),
    ];
    return Buffer.from(`${lines.join(lineEnd)}${lineEnd}${lineEnd}`);
  });
}

/** Events in the frames of an AWS event stream. */
export const framedEvents = (events: readonly RecordedEvent[], spelling: JsonSpelling): Buffer[] =>
  events.map(({ data }) => {
    const bytes = Buffer.from(serialise(data, spelling)).toString('base64');
    return frame(
      { ':event-type': 'chunk', ':content-type': 'application/json', ':message-type': 'event' },
      serialise({ bytes, p: 'abcd' }, spelling),
    );
  });
