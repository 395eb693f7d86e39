import { fault } from '../kernel';

export const POLICY_MODES = ['all', 'allow', 'deny'] as const;
export type PolicyMode = (typeof POLICY_MODES)[number];

/** `allow` permits only models that a pattern names, `deny` all but those. `*` in a pattern matches any characters. */
export interface ModelPolicy {
  readonly mode: PolicyMode;
  readonly patterns: readonly string[];
}

const MOST_PATTERNS = 500;
/** A name of a model, or several by `*`. */
export const MODEL_PATTERN = /^[A-Za-z0-9._:/@+*-]{1,128}$/;

export function checkPolicy({ mode, patterns }: ModelPolicy): void {
  if (patterns.length > MOST_PATTERNS) throw badPattern(`A policy has at most ${MOST_PATTERNS} patterns.`);
  const wrong = patterns.find((pattern) => !MODEL_PATTERN.test(pattern));
  if (wrong !== undefined)
    throw badPattern('A pattern has 1 to 128 letters, digits and . _ : / @ + - *, such as "openai/*".');
  if (mode === 'allow' && patterns.length === 0)
    throw badPattern('A policy that allows nothing closes every model: name at least one pattern.');
}

const badPattern = (message: string): Error => fault('validation_error', { param: 'patterns', message });

export function allows({ mode, patterns }: ModelPolicy, name: string): boolean {
  if (mode === 'all') return true;
  return patterns.some((pattern) => matchesPattern(pattern, name)) === (mode === 'allow');
}

/** Piece by piece, in linear time: no pattern can backtrack. */
export function matchesPattern(pattern: string, name: string): boolean {
  const [first = '', ...pieces] = pattern.split('*');
  const last = pieces.pop();
  if (last === undefined) return name === pattern;
  if (!name.startsWith(first)) return false;
  let at = first.length;
  for (const piece of pieces) {
    const found = name.indexOf(piece, at);
    if (found === -1) return false;
    at = found + piece.length;
  }
  return name.length - last.length >= at && name.endsWith(last);
}
