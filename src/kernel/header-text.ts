const token = /^[\w!#$%&'*+.^`|~-]+$/;
const unfit = /[^\t\x20-\x7e\x80-\xff]/;

/** Such a value consists of what may stand in a header. */
export const isValidHeaderValue = (value: string): boolean => !unfit.test(value);

const MOST_NAMES = 256;
const LONGEST_NAME = 64;
const names = new Map<string, string>();

/** A name in small letters; null for what is none. The same few come again and again. */
export function headerName(spelling: string): string | null {
  const known = names.get(spelling);
  if (known !== undefined) return known;
  if (!token.test(spelling)) return null;
  const name = spelling.toLowerCase();
  if (name.length > LONGEST_NAME) return name;
  if (names.size >= MOST_NAMES) names.clear();
  // A part of a text keeps the whole of it in memory.
  names.set(Buffer.from(spelling, 'latin1').toString('latin1'), name);
  return name;
}
