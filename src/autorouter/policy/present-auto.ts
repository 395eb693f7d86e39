import { type AutoLevels, type AutoSettings, usualAutoSettings } from './auto-settings';
import { effectivePolicy } from './effective-policy';

/** The answer has what one level says, beside what is usual where it says nothing. */
export const presentAutoSettings = (settings: AutoSettings): AutoSettings => ({
  ...usualAutoSettings,
  locked: false,
  ...settings,
});

/** The answer has the policy of an account, and which level decided each part. */
export function presentAutoPolicy(levels: AutoLevels) {
  const { level, lockedBy, sources, includes, excludes, ...choices } = effectivePolicy(levels);
  return {
    ...choices,
    include: includes,
    exclude: excludes,
    source_level: level,
    locked_by: lockedBy,
    sources,
  };
}
