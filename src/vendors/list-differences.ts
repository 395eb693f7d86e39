import { EFFORTS, type FactsOverride, type ThinkingFacts } from './facts';
import type { LaneFacts } from './lane-facts';
import { LISTED_EFFORTS, type VendorListedModel } from './listed-models';

/** A fact for which a vendor's list differs from the known value. */
export interface ListDifference {
  readonly fact: 'window' | 'max_output' | 'thinking' | 'schema';
  readonly known: string;
  readonly told: string;
  readonly change: FactsOverride | null;
  /** Whether the change would lower the hold of requests. */
  readonly lowers: boolean;
}

const NO_VALUE = '–';

/** `all` has the facts of every lane of the model, since the facts of a model apply to all its lanes. */
export function listDifferences(
  listed: VendorListedModel,
  facts: LaneFacts,
  all: readonly LaneFacts[],
): readonly ListDifference[] {
  return [
    ...figureDifferences('window', 'window', listed.window, facts, all),
    ...figureDifferences('max_output', 'maxOutput', listed.maxOutput, facts, all),
    ...thinkingDifferences(listed.thinking, facts.thinking),
    ...schemaDifferences(listed.schemas, facts.schema),
  ];
}

function figureDifferences(
  fact: 'window' | 'max_output',
  name: 'window' | 'maxOutput',
  listed: number | undefined,
  facts: LaneFacts,
  all: readonly LaneFacts[],
): ListDifference[] {
  if (listed === undefined || listed === facts[name]) return [];
  // An unknown figure counts as infinite, so replacing it lowers the hold.
  const lowers = [facts, ...all].some((one) => (one[name] ?? Infinity) > listed);
  return [
    {
      fact,
      known: String(facts[name] ?? NO_VALUE),
      told: String(listed),
      change: { [name]: listed },
      lowers,
    },
  ];
}

/** Types and efforts that the list does not cover stay unchanged. */
function thinkingDifferences(
  listed: VendorListedModel['thinking'],
  known: ThinkingFacts | undefined,
): ListDifference[] {
  if (listed === undefined) return [];
  const types = (known?.types ?? []).filter((type) => type === 'adaptive' || type === 'enabled');
  const efforts = EFFORTS.filter((one) => LISTED_EFFORTS.includes(one) && known?.efforts?.includes(one));
  const before = known === undefined ? NO_VALUE : thinkingText(types, efforts);
  const after = listed === null ? NO_VALUE : thinkingText(listed.types, listed.efforts);
  if (before === after) return [];
  return [
    { fact: 'thinking', known: before, told: after, change: changedThinking(listed, known), lowers: false },
  ];
}

const thinkingText = (types: readonly string[], efforts: readonly string[]): string =>
  [types, efforts].map((words) => (words.length === 0 ? NO_VALUE : words.join(', '))).join('; ');

/**
 * Null if thinking is unknown here or the list has no budget: the list says nothing about unasked thinking, stopping or
 * budgets.
 */
function changedThinking(
  listed: NonNullable<VendorListedModel['thinking']> | null,
  known: ThinkingFacts | undefined,
): FactsOverride | null {
  if (listed === null || known === undefined) return null;
  if (listed.types.includes('enabled') && known.budget === undefined) return null;
  const unlisted = (known.types ?? []).filter((type) => type !== 'adaptive' && type !== 'enabled');
  const efforts = EFFORTS.filter((one) =>
    LISTED_EFFORTS.includes(one) ? listed.efforts.includes(one) : known.efforts?.includes(one),
  );
  const { types: _types, efforts: _efforts, usual, stopsUpTo, ...rest } = known;
  return {
    thinking: {
      ...rest,
      types: [...listed.types, ...unlisted],
      ...(efforts.length > 0 && { efforts }),
      ...(usual !== undefined && efforts.includes(usual) && { usual }),
      ...(stopsUpTo !== undefined && efforts.includes(stopsUpTo) && { stopsUpTo }),
    },
  };
}

function schemaDifferences(listed: boolean | undefined, known: LaneFacts['schema']): ListDifference[] {
  const isKnown = known !== undefined && known !== 'none';
  if (listed === undefined || (listed ? isKnown : known === 'none')) return [];
  // Only Anthropic's list states whether schemas are supported.
  const schema = listed ? 'anthropic' : 'none';
  return [{ fact: 'schema', known: known ?? NO_VALUE, told: schema, change: { schema }, lowers: false }];
}
