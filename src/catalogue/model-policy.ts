import { fault } from '../kernel';

export const POLICY_MODES = ['all', 'allow', 'deny'] as const;
export type PolicyMode = (typeof POLICY_MODES)[number];

/** `allow` permits only models that match a pattern, `deny` all others. `*` in a pattern matches any characters. */
export interface ModelPolicy {
  readonly mode: PolicyMode;
  readonly patterns: readonly string[];
}

const MAX_PATTERNS = 500;
export const MODEL_PATTERN = /^[A-Za-z0-9._:/@+*-]{1,128}$/;

export function checkPolicy({ mode, patterns }: ModelPolicy): void {
  if (patterns.length > MAX_PATTERNS) throw invalidPattern(`A policy has at most ${MAX_PATTERNS} patterns.`);
  const invalid = patterns.find((pattern) => !MODEL_PATTERN.test(pattern));
  if (invalid !== undefined)
    throw invalidPattern('A pattern has 1 to 128 letters, digits and . _ : / @ + - *, such as "openai/*".');
  if (mode === 'allow' && patterns.length === 0)
    throw invalidPattern('A policy that allows nothing closes every model: name at least one pattern.');
}

const invalidPattern = (message: string): Error => fault('validation_error', { param: 'patterns', message });

export function allows({ mode, patterns }: ModelPolicy, name: string): boolean {
  if (mode === 'all') return true;
  return patterns.some((pattern) => matchesPattern(pattern, name)) === (mode === 'allow');
}

/** Matches piece by piece in linear time: no pattern can backtrack. */
export function matchesPattern(pattern: string, name: string): boolean {
  const [first = '', ...pieces] = pattern.split('*');
  const last = pieces.pop();
  if (last === undefined) return name === pattern;
  if (!name.startsWith(first)) return false;
  let at = first.length;
  for (const piece of pieces) {
    const index = name.indexOf(piece, at);
    if (index === -1) return false;
    at = index + piece.length;
  }
  return name.length - last.length >= at && name.endsWith(last);
}
