import { assumedFacts, type VendorWithGenerations } from './assumed-facts';
import type { FactsOverride, ModelFacts } from './facts';
import { factsOf } from './find-facts';

export interface LaneFacts extends FactsOverride {
  /** Id of the known model; null if only the operator's facts are known. */
  readonly known: string | null;
  /** Id of the known model that an unknown one of the same vendor is treated like. */
  readonly assumed?: string;
}

export const UNKNOWN_FACTS: LaneFacts = Object.freeze({ known: null });

/**
 * `name` is the supplier's name of the model, or the id that the lane declares. With a vendor, an unknown name is
 * treated like the vendor's newest known generation.
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
  return { ...withoutIdentity(row), ...override, known: row.id };
}

function withoutIdentity(row: ModelFacts): FactsOverride {
  const { id: _id, vendor: _vendor, aliases: _aliases, source: _source, checked: _checked, ...facts } = row;
  return facts;
}

/** The model's maximum input tokens for this request; null if unknown. */
export function windowOf({ window, widened }: LaneFacts, betas: readonly string[]): number | null {
  if (window === undefined) return null;
  return Math.max(window, ...betas.map((beta) => widened?.[beta] ?? 0));
}
