import fc from 'fast-check';

/** Equivalent ways in which a supplier may format its JSON and events. */
export interface Spelling {
  readonly indent: number;
  readonly space: boolean;
  readonly reversed: boolean;
  readonly escaped: boolean;
  readonly lineEnd: '\n' | '\r\n' | '\r';
  /** Gap between `data:` and the value. */
  readonly gap: '' | ' ';
  readonly trailing: '' | '  ';
  readonly commented: boolean;
  readonly fields: boolean;
  readonly mark: boolean;
}

export const spellings: fc.Arbitrary<Spelling> = fc.record({
  indent: fc.constantFrom(0, 2),
  space: fc.boolean(),
  reversed: fc.boolean(),
  escaped: fc.boolean(),
  lineEnd: fc.constantFrom('\n', '\r\n', '\r'),
  gap: fc.constantFrom('', ' '),
  trailing: fc.constantFrom('', '  '),
  commented: fc.boolean(),
  fields: fc.boolean(),
  mark: fc.boolean(),
});

export interface WrittenEvent {
  readonly event?: string;
  readonly data: string;
}

/** Parses the events of a plainly formatted stream. */
export const parseEvents = (stream: string): WrittenEvent[] =>
  stream
    .replaceAll('\r\n', '\n')
    .split('\n\n')
    .map((block) => ({
      event: /^event: (.*)$/m.exec(block)?.[1],
      data: [...block.matchAll(/^data: ?(.*)$/gm)].map(([, line]) => line).join('\n'),
    }))
    .filter(({ data }) => data !== '');

/** Formats each event in the given spelling, as separate buffers. */
export function spell(events: readonly WrittenEvent[], spelling: Spelling): Buffer[] {
  return events.map(({ event, data }, index) => {
    const lines: string[] = [];
    if (spelling.commented) lines.push(': a comment', '');
    if (event !== undefined) lines.push(`event:${spelling.gap}${event}`);
    if (spelling.fields) lines.push(`id: ${index}`, 'retry: 1500', 'other: field');
    for (const line of respell(data, spelling).split('\n'))
      lines.push(`data:${spelling.gap}${line}${spelling.trailing}`);
    const text = [...lines, '', ''].join(spelling.lineEnd);
    return Buffer.from(index === 0 && spelling.mark ? `\ufeff${text}` : text);
  });
}

function respell(data: string, spelling: Spelling): string {
  let value: unknown;
  try {
    value = JSON.parse(data);
  } catch {
    return data;
  }
  const ordered = spelling.reversed ? reversed(value) : value;
  const text =
    spelling.space && spelling.indent === 0
      ? formatWithSpaces(ordered)
      : JSON.stringify(ordered, null, spelling.indent);
  return spelling.escaped ? text.replace(/[\u0080-\uffff]/g, escape) : text;
}

const escape = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** Formats JSON as Python's `json.dumps` does. */
function formatWithSpaces(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(formatWithSpaces).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(
    ([name, inner]) => `${JSON.stringify(name)}: ${formatWithSpaces(inner)}`,
  );
  return `{${members.join(', ')}}`;
}

function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([name, inner]) => [name, reversed(inner)]),
  );
}
