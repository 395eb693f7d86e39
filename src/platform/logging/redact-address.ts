const REDACTED = '[redacted]';
/** Shorter segments and values are ordinary words such as `v1`; the complete path is redacted in any case. */
const MIN_PART_CHARACTERS = 5;
const MIN_PATH_CHARACTERS = 3;

/**
 * Returns a function that removes the path and the query of an address from texts, as both can hold a secret and a
 * receiver might repeat them. Percent signs, JSON and HTML escapes and other letter cases are recognised.
 */
export function addressRedactor(address: string, secrets: readonly string[] = []): (text: string) => string {
  const { pathname, search, searchParams } = new URL(address);
  const segments = pathname.split('/').flatMap((segment) => [segment, decoded(segment)]);
  const queryParts = [...search.slice(1).split('&'), ...searchParams.values()];
  const parts = [
    ...[`${pathname}${search}`, pathname, decoded(pathname)].filter(
      ({ length }) => length >= MIN_PATH_CHARACTERS,
    ),
    ...[search, ...segments, ...queryParts, ...secrets].filter(({ length }) => length >= MIN_PART_CHARACTERS),
  ];
  if (parts.length === 0) return (text) => text;
  const longestFirst = [...new Set(parts)].sort((left, right) => right.length - left.length);
  const pattern = new RegExp(longestFirst.map(spellingsOf).join('|'), 'gi');
  return (text) => text.replaceAll(pattern, REDACTED);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '"': '&quot;', "'": '&#39;' };

/** A pattern for every spelling of a text that servers and serializers produce. */
function spellingsOf(text: string): string {
  return [...text]
    .map((character) => {
      const bytes = [...Buffer.from(character)].map((byte) => byte.toString(16).padStart(2, '0'));
      const percent = bytes.map((byte) => `%(?:25)*${byte}`).join('');
      const unit = character.charCodeAt(0).toString(16).padStart(4, '0');
      const literal = /\W/.test(character) ? `\\${character}` : character;
      const spellings = [literal, percent];
      if (literal !== character) spellings.push(`\\\\u${unit}`, `\\\\${literal}`);
      const entity = entities[character];
      if (entity !== undefined) spellings.push(entity);
      return `(?:${spellings.join('|')})`;
    })
    .join('');
}
