import { parseUsd } from '../../kernel';
import {
  type AutoLevel,
  autoLevels,
  type AutoLevels,
  type AutoSettings,
  type EffectiveAutoPolicy,
  usualAutoSettings,
} from './auto-settings';

const replaced = [
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

/** These locks count in this order: the key's is an administrator's, and a person's own does not undo it. */
const lockOrder: readonly AutoLevel[] = ['platform', 'organisation', 'key', 'user'];

/**
 * The levels taken together. Choices of a narrower level replace those of a wider one, unless that is locked; limits
 * add up whatever is locked, and the tightest counts.
 */
export function effectivePolicy(levels: AutoLevels): EffectiveAutoPolicy {
  const lockedBy = lockOrder.find((level) => levels[level]?.locked === true) ?? null;
  const effectiveLevels =
    lockedBy === null ? autoLevels : autoLevels.slice(0, autoLevels.indexOf(lockedBy) + 1);
  const sources: Sources = {};
  let choices: AutoSettings = usualAutoSettings;
  for (const level of effectiveLevels)
    choices = { ...choices, ...choicesOf(level, levels[level] ?? {}, sources) };
  return {
    ...usualAutoSettings,
    ...choices,
    ...tightest(levels, sources),
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

/** This says whether a request for `auto` can be answered at all. */
export const answersAuto = ({
  mode,
  fallback_model: fallback,
}: Pick<EffectiveAutoPolicy, 'mode' | 'fallback_model'>): boolean => mode !== 'off' || fallback !== undefined;

function choicesOf(level: AutoLevel, settings: AutoSettings, sources: Sources): AutoSettings {
  const given = replaced.filter((name) => settings[name] !== undefined);
  for (const name of given) sources[name] = level;
  return Object.fromEntries(given.map((name) => [name, settings[name]]));
}

/** A narrower level may ask for more quality and for less cost than a wider one, never the other way round. */
function tightest(levels: AutoLevels, sources: Sources): AutoSettings {
  let quality: number | undefined;
  let cost: string | undefined;
  for (const level of autoLevels) {
    const { min_quality: least, max_cost_per_request: most } = levels[level] ?? {};
    if (least !== undefined && (quality === undefined || least > quality)) {
      quality = least;
      sources.min_quality = level;
    }
    if (most !== undefined && (cost === undefined || parseUsd(most) < parseUsd(cost))) {
      cost = most;
      sources.max_cost_per_request = level;
    }
  }
  return {
    ...(quality === undefined ? {} : { min_quality: quality }),
    ...(cost === undefined ? {} : { max_cost_per_request: cost }),
  };
}
