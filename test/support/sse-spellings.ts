import fc from 'fast-check';

/** A supplier may write its JSON and its events so without saying anything else. */
export interface Spelling {
  readonly indent: number;
  readonly space: boolean;
  readonly reversed: boolean;
  readonly escaped: boolean;
  readonly lineEnd: '\n' | '\r\n' | '\r';
  /** Between `data:` and the value. */
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

/** Events of a stream that is written plainly. */
export const eventsIn = (stream: string): WrittenEvent[] =>
  stream
    .replaceAll('\r\n', '\n')
    .split('\n\n')
    .map((block) => ({
      event: /^event: (.*)$/m.exec(block)?.[1],
      data: [...block.matchAll(/^data: ?(.*)$/gm)].map(([, line]) => line).join('\n'),
    }))
    .filter(({ data }) => data !== '');

/** The same events, each as bytes of their own. */
export function spell(events: readonly WrittenEvent[], how: Spelling): Buffer[] {
  return events.map(({ event, data }, index) => {
    const lines: string[] = [];
    if (how.commented) lines.push(': a comment', '');
    if (event !== undefined) lines.push(`event:${how.gap}${event}`);
    if (how.fields) lines.push(`id: ${index}`, 'retry: 1500', 'other: field');
    for (const line of respell(data, how).split('\n')) lines.push(`data:${how.gap}${line}${how.trailing}`);
    const text = [...lines, '', ''].join(how.lineEnd);
    return Buffer.from(index === 0 && how.mark ? `\ufeff${text}` : text);
  });
}

function respell(data: string, how: Spelling): string {
  let value: unknown;
  try {
    value = JSON.parse(data);
  } catch {
    return data;
  }
  const ordered = how.reversed ? reversed(value) : value;
  const text = how.space && how.indent === 0 ? spaced(ordered) : JSON.stringify(ordered, null, how.indent);
  return how.escaped ? text.replace(/[\u0080-\uffff]/g, escape) : text;
}

const escape = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** As Python's `json.dumps` writes it. */
function spaced(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(spaced).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(([name, inner]) => `${JSON.stringify(name)}: ${spaced(inner)}`);
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
