import { matchesPattern, type ModelView } from '../../catalogue';
import type { EffectiveAutoPolicy } from './auto-settings';

/** Every level with an include list must match the model, and no level can exclude it; aliases count as the model. */
export function isIncluded(
  { name, aliases }: ModelView,
  { includes, excludes }: EffectiveAutoPolicy,
): boolean {
  const isNamed = (patterns: readonly string[]): boolean =>
    [name, ...aliases].some((each) => patterns.some((pattern) => matchesPattern(pattern, each)));
  return includes.every(isNamed) && !isNamed(excludes);
}
