import type { MaskedSpan } from '@switchboard/extension';
import type { Finder } from './find';
import type { Placeholder } from './placeholders';

/** Maximum length of a match, including required lookahead: see `find.ts`. */
export const MAX_MATCH_LENGTH = 128;

export type FindSpans = (text: string) => readonly MaskedSpan[];

/**
 * Returns all matches in the order of the text. If two overlap, the first wins; at the same position, the longer one.
 */
export const spanFinder =
  (finder: Finder, placeholder: Placeholder): FindSpans =>
  (text) => {
    const matches = finder(text);
    if (matches.length === 0) return [];
    const inOrder = matches.toSorted((one, other) => one.start - other.start || other.end - one.end);
    let from = 0;
    return inOrder.flatMap(({ kind, start, end }) => {
      if (start < from) return [];
      from = end;
      return [{ start, end, text: placeholder(kind, text.slice(start, end)) }];
    });
  };

export function maskText(text: string, find: FindSpans): string {
  let masked = '';
  let from = 0;
  for (const span of find(text)) {
    masked += text.slice(from, span.start) + span.text;
    from = span.end;
  }
  return masked + text.slice(from);
}

/** Masks the strings and numbers of a JSON text; invalid JSON is masked as text. */
export function maskJson(json: string, find: FindSpans): string {
  let hasChanged = false;
  const maskValue = (value: unknown): unknown => {
    if (typeof value === 'string' || typeof value === 'number') {
      const maskedValue = maskText(String(value), find);
      if (maskedValue === String(value)) return value;
      hasChanged = true;
      return maskedValue;
    }
    if (Array.isArray(value)) return value.map(maskValue);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, inner]) => [maskValue(name) as string, maskValue(inner)]),
    );
  };
  try {
    const maskedText = JSON.stringify(maskValue(JSON.parse(json)));
    return hasChanged ? maskedText : json;
  } catch {
    return maskText(json, find);
  }
}
