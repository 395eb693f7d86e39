import { assumedFacts, type VendorWithGenerations } from './assumed-facts';
import type { FactsOverride, ModelFacts } from './facts';
import { factsOf } from './find-facts';

/** A lane knows these facts of its model: the vendor's, with what the operator says otherwise. */
export interface LaneFacts extends FactsOverride {
  /** The row of the table; null: nothing is known but the operator's word. */
  readonly known: string | null;
  /** Id of the model that an unknown one of its vendor is treated like. */
  readonly assumed?: string;
}

export const UNKNOWN_FACTS: LaneFacts = Object.freeze({ known: null });

/**
 * `name` is the supplier's name of the model, or the id that a lane says it stands for. With a vendor, an unknown
 * name is treated like the vendor's newest known generation.
 */
export function laneFacts(
  name: string,
  override: FactsOverride,
  vendor: VendorWithGenerations | null = null,
): LaneFacts {
  const row = factsOf(name);
  const assumed = row === null && vendor !== null ? assumedFacts(name, vendor) : null;
  if (row === null && assumed === null && Object.keys(override).length === 0) return UNKNOWN_FACTS;
  if (row === null) return { ...assumed, ...override, known: null };
  return { ...factsAlone(row), ...override, known: row.id };
}

function factsAlone(row: ModelFacts): FactsOverride {
  const { id: _id, vendor: _vendor, aliases: _aliases, source: _source, checked: _checked, ...facts } = row;
  return facts;
}

/** The model reads at most so many tokens for this request, as its vendor says; null where nobody knows. */
export function windowOf({ window, widened }: LaneFacts, betas: readonly string[]): number | null {
  if (window === undefined) return null;
  return Math.max(window, ...betas.map((beta) => widened?.[beta] ?? 0));
}
