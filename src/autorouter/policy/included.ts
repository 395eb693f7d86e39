import { matchesPattern, type ModelView } from '../../catalogue';
import type { EffectiveAutoPolicy } from './auto-settings';

/** Every level that names models has to name it, and none may exclude it; aliases count as the model. */
export function isIncluded(
  { name, aliases }: ModelView,
  { includes, excludes }: EffectiveAutoPolicy,
): boolean {
  const isNamed = (patterns: readonly string[]): boolean =>
    [name, ...aliases].some((each) => patterns.some((pattern) => matchesPattern(pattern, each)));
  return includes.every(isNamed) && !isNamed(excludes);
}
