import { EFFORTS, type FactsOverride, type ThinkingFacts } from './facts';
import type { LaneFacts } from './lane-facts';
import { TOLD_EFFORTS, type ToldModel } from './told-models';

/** A fact of which a vendor's list says something else than is known here. */
export interface ToldDifference {
  readonly fact: 'window' | 'max_output' | 'thinking' | 'schema';
  readonly known: string;
  readonly told: string;
  /** The vendor's word changes the facts so; null where it says too little for that. */
  readonly change: FactsOverride | null;
  /** Less would be set aside for requests than now. */
  readonly lowers: boolean;
}

const NOTHING = '–';

/** The mode `all` has the facts of every lane of the model, since the facts of a model are for all of them. */
export function toldDifferences(
  told: ToldModel,
  facts: LaneFacts,
  all: readonly LaneFacts[],
): readonly ToldDifference[] {
  return [
    ...figures('window', 'window', told.window, facts, all),
    ...figures('max_output', 'maxOutput', told.maxOutput, facts, all),
    ...thinking(told.thinking, facts.thinking),
    ...schemas(told.schemas, facts.schema),
  ];
}

function figures(
  fact: 'window' | 'max_output',
  name: 'window' | 'maxOutput',
  told: number | undefined,
  facts: LaneFacts,
  all: readonly LaneFacts[],
): ToldDifference[] {
  if (told === undefined || told === facts[name]) return [];
  // Where nothing is known, nothing lowers what is set aside.
  const lowers = [facts, ...all].some((one) => (one[name] ?? Infinity) > told);
  return [
    {
      fact,
      known: String(facts[name] ?? NOTHING),
      told: String(told),
      change: { [name]: told },
      lowers,
    },
  ];
}

/** Types and efforts of which the list does not speak stay as they are. */
function thinking(told: ToldModel['thinking'], known: ThinkingFacts | undefined): ToldDifference[] {
  if (told === undefined) return [];
  const types = (known?.types ?? []).filter((type) => type === 'adaptive' || type === 'enabled');
  const efforts = EFFORTS.filter((one) => TOLD_EFFORTS.includes(one) && known?.efforts?.includes(one));
  const before = known === undefined ? NOTHING : thinkingText(types, efforts);
  const after = told === null ? NOTHING : thinkingText(told.types, told.efforts);
  if (before === after) return [];
  return [
    { fact: 'thinking', known: before, told: after, change: changedThinking(told, known), lowers: false },
  ];
}

const thinkingText = (types: readonly string[], efforts: readonly string[]): string =>
  [types, efforts].map((words) => (words.length === 0 ? NOTHING : words.join(', '))).join('; ');

/** The list does not say whether a model thinks unasked, can stop, or how large a budget may be. */
function changedThinking(
  told: NonNullable<ToldModel['thinking']> | null,
  known: ThinkingFacts | undefined,
): FactsOverride | null {
  if (told === null || known === undefined) return null;
  if (told.types.includes('enabled') && known.budget === undefined) return null;
  const untold = (known.types ?? []).filter((type) => type !== 'adaptive' && type !== 'enabled');
  const efforts = EFFORTS.filter((one) =>
    TOLD_EFFORTS.includes(one) ? told.efforts.includes(one) : known.efforts?.includes(one),
  );
  const { types: _types, efforts: _efforts, usual, stopsUpTo, ...rest } = known;
  return {
    thinking: {
      ...rest,
      types: [...told.types, ...untold],
      ...(efforts.length > 0 && { efforts }),
      ...(usual !== undefined && efforts.includes(usual) && { usual }),
      ...(stopsUpTo !== undefined && efforts.includes(stopsUpTo) && { stopsUpTo }),
    },
  };
}

function schemas(told: boolean | undefined, known: LaneFacts['schema']): ToldDifference[] {
  const isKnown = known !== undefined && known !== 'none';
  if (told === undefined || (told ? isKnown : known === 'none')) return [];
  // Anthropic's list alone speaks of schemas.
  const schema = told ? 'anthropic' : 'none';
  return [{ fact: 'schema', known: known ?? NOTHING, told: schema, change: { schema }, lowers: false }];
}
