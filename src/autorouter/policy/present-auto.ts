import { type AutoLevels, type AutoSettings, defaultAutoSettings } from './auto-settings';
import { effectivePolicy } from './effective-policy';

export const presentAutoSettings = (settings: AutoSettings): AutoSettings => ({
  ...defaultAutoSettings,
  locked: false,
  ...settings,
});

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
