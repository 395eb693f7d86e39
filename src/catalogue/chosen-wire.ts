import { type FactsOverride, type Wire, WIRES } from '../vendors';
import type { ProviderView } from './views';

/** Dialect that the operator configured for conversations: the lane's, else the model's, else the provider's. */
export const chosenWire = (
  lane: { readonly wire: Wire | null },
  model: { readonly facts: FactsOverride },
  { settings }: Pick<ProviderView, 'settings'>,
): Wire | null => lane.wire ?? model.facts.wire ?? WIRES.find((wire) => wire === settings.wire) ?? null;
