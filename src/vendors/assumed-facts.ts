import type { FactsOverride, ModelFacts } from './facts';
import { factsOf } from './find-facts';
import { isEnded } from './models/ended';

/** A model of the newest known generation per vendor; the vendor's unknown models are treated like it. */
const NEWEST_GENERATION = { anthropic: 'claude-opus-5-5', openai: 'gpt-6.2-astra' } as const;

export type VendorWithGenerations = keyof typeof NEWEST_GENERATION;

const FINE_TUNED = /^ft:([^:]+):/;

/** Facts on how to call a model. Window, prices and images are excluded, since an assumption must not lower a hold. */
const ASSUMED_FACTS = [
  'thinking',
  'sampling',
  'forcedTools',
  'prefill',
  'chat',
  'chatRefuses',
  'schema',
  'dropsBlocks',
] as const satisfies readonly (keyof ModelFacts)[];

export interface AssumedFacts extends FactsOverride {
  /** Id of the known model that the unknown one is treated like. */
  readonly assumed: string;
}

/** Null if the vendor retired the model: no newer model is assumed for an old name. */
export function assumedFacts(name: string, vendor: VendorWithGenerations): AssumedFacts | null {
  if (isEnded(name)) return null;
  const base = FINE_TUNED.exec(name)?.[1];
  if (base !== undefined && isEnded(base)) return null;
  const model = (base === undefined ? null : factsOf(base)) ?? factsOf(NEWEST_GENERATION[vendor]);
  if (model === null) return null;
  const facts = Object.fromEntries(
    ASSUMED_FACTS.flatMap((fact) => (model[fact] === undefined ? [] : [[fact, model[fact]]])),
  ) as FactsOverride;
  return { ...facts, assumed: model.id };
}
