import type { MaskedSpan } from '@switchboard/extension';
import type { Finder } from './find';
import type { Placeholder } from './placeholders';

/** No find is longer, what has to follow it included: see `find.ts`. */
export const LONGEST = 128;

export type FindSpans = (text: string) => readonly MaskedSpan[];

/** All finds in the order of the text. Where two overlap, the first stands, and of two at one place the longer. */
export const placesIn =
  (finder: Finder, placeholder: Placeholder): FindSpans =>
  (text) => {
    const found = finder(text);
    if (found.length === 0) return [];
    const inOrder = found.toSorted((one, other) => one.start - other.start || other.end - one.end);
    let from = 0;
    return inOrder.flatMap(({ kind, start, end }) => {
      if (start < from) return [];
      from = end;
      return [{ start, end, text: placeholder(kind, text.slice(start, end)) }];
    });
  };

export function maskedText(text: string, find: FindSpans): string {
  let masked = '';
  let from = 0;
  for (const span of find(text)) {
    masked += text.slice(from, span.start) + span.text;
    from = span.end;
  }
  return masked + text.slice(from);
}

/** The strings and numbers of a JSON text; what is no JSON is masked as text. */
export function maskedJson(json: string, find: FindSpans): string {
  let hasChanged = false;
  const masked = (value: unknown): unknown => {
    if (typeof value === 'string' || typeof value === 'number') {
      const shown = maskedText(String(value), find);
      if (shown === String(value)) return value;
      hasChanged = true;
      return shown;
    }
    if (Array.isArray(value)) return value.map(masked);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, inner]) => [masked(name) as string, masked(inner)]),
    );
  };
  try {
    const shown = JSON.stringify(masked(JSON.parse(json)));
    return hasChanged ? shown : json;
  } catch {
    return maskedText(json, find);
  }
}
