import { type FactsOverride, type Wire, WIRES } from '../vendors';
import type { ProviderView } from './views';

/** The dialect that the operator chose for conversations: of the lane, else of its model, else of its provider. */
export const chosenWire = (
  lane: { readonly wire: Wire | null },
  model: { readonly facts: FactsOverride },
  { settings }: Pick<ProviderView, 'settings'>,
): Wire | null => lane.wire ?? model.facts.wire ?? WIRES.find((wire) => wire === settings.wire) ?? null;
