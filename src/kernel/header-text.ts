const token = /^[\w!#$%&'*+.^`|~-]+$/;
const invalidCharacter = /[^\t\x20-\x7e\x80-\xff]/;

export const isValidHeaderValue = (value: string): boolean => !invalidCharacter.test(value);

const MAX_CACHED_NAMES = 256;
const MAX_NAME_LENGTH = 64;
const cachedNames = new Map<string, string>();

/** Returns the name in lower case; null if it is invalid. Results are cached, since the same few names recur. */
export function normaliseHeaderName(spelling: string): string | null {
  const cachedName = cachedNames.get(spelling);
  if (cachedName !== undefined) return cachedName;
  if (!token.test(spelling)) return null;
  const name = spelling.toLowerCase();
  if (name.length > MAX_NAME_LENGTH) return name;
  if (cachedNames.size >= MAX_CACHED_NAMES) cachedNames.clear();
  // A substring keeps its entire parent string in memory, hence the copy.
  cachedNames.set(Buffer.from(spelling, 'latin1').toString('latin1'), name);
  return name;
}
