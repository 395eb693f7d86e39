import { parseUsd } from '../../kernel';
import {
  type AutoLevel,
  autoLevels,
  type AutoLevels,
  type AutoSettings,
  type EffectiveAutoPolicy,
  defaultAutoSettings,
} from './auto-settings';

const overridableSettings = [
  'mode',
  'algorithm',
  'dial',
  'reference_model',
  'latency_target_ms',
  'stickiness',
  'stickiness_minutes',
  'fallback_model',
] as const;

type Sources = Partial<Record<keyof AutoSettings, AutoLevel>>;

/** Precedence of locks: an administrator sets the key's, so a user's own does not undo it. */
const lockOrder: readonly AutoLevel[] = ['platform', 'organisation', 'key', 'user'];

/**
 * Combines the levels. Narrower levels override choices unless locked; of limits the tightest applies, even if locked.
 */
export function effectivePolicy(levels: AutoLevels): EffectiveAutoPolicy {
  const lockedBy = lockOrder.find((level) => levels[level]?.locked === true) ?? null;
  const effectiveLevels =
    lockedBy === null ? autoLevels : autoLevels.slice(0, autoLevels.indexOf(lockedBy) + 1);
  const sources: Sources = {};
  let choices: AutoSettings = defaultAutoSettings;
  for (const level of effectiveLevels)
    choices = { ...choices, ...choicesOf(level, levels[level] ?? {}, sources) };
  return {
    ...defaultAutoSettings,
    ...choices,
    ...tightestLimits(levels, sources),
    includes: autoLevels.flatMap((level) => {
      const names = levels[level]?.include ?? [];
      return names.length === 0 ? [] : [names];
    }),
    excludes: autoLevels.flatMap((level) => levels[level]?.exclude ?? []),
    level: effectiveLevels.findLast((level) => Object.keys(levels[level] ?? {}).length > 0) ?? 'usual',
    lockedBy,
    sources,
  };
}

export const answersAuto = ({
  mode,
  fallback_model: fallback,
}: Pick<EffectiveAutoPolicy, 'mode' | 'fallback_model'>): boolean => mode !== 'off' || fallback !== undefined;

function choicesOf(level: AutoLevel, settings: AutoSettings, sources: Sources): AutoSettings {
  const ownSettings = overridableSettings.filter((name) => settings[name] !== undefined);
  for (const name of ownSettings) sources[name] = level;
  return Object.fromEntries(ownSettings.map((name) => [name, settings[name]]));
}

/** A narrower level can require more quality and less cost than a wider one, never the reverse. */
function tightestLimits(levels: AutoLevels, sources: Sources): AutoSettings {
  let quality: number | undefined;
  let cost: string | undefined;
  for (const level of autoLevels) {
    const { min_quality: levelMinQuality, max_cost_per_request: levelMaxCost } = levels[level] ?? {};
    if (levelMinQuality !== undefined && (quality === undefined || levelMinQuality > quality)) {
      quality = levelMinQuality;
      sources.min_quality = level;
    }
    if (levelMaxCost !== undefined && (cost === undefined || parseUsd(levelMaxCost) < parseUsd(cost))) {
      cost = levelMaxCost;
      sources.max_cost_per_request = level;
    }
  }
  return {
    ...(quality === undefined ? {} : { min_quality: quality }),
    ...(cost === undefined ? {} : { max_cost_per_request: cost }),
  };
}
