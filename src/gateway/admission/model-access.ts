import type { CatalogueSnapshot, ModelAudience, ModelKind, ModelView } from '../../catalogue';
import type { Caller } from '../../keys';
import { AUTO } from '../intake';

/**
 * A key's list names a model by its own name or an alias. The target of a redirect must be on the list
 * itself. A list of `auto` alone names no model and leaves all of them to the choice of the service
 * (`byAuto`).
 */
export const isListed = (
  { allowedModels }: Pick<Caller, 'allowedModels'>,
  { name, aliases }: ModelView,
  byAuto = false,
): boolean =>
  allowedModels === null ||
  allowedModels.has(name) ||
  aliases.some((alias) => allowedModels.has(alias)) ||
  (byAuto && allowedModels.size === 1 && allowedModels.has(AUTO));

interface Asking extends Pick<Caller, 'allowedModels' | 'allowedRegions'> {
  readonly attribution: ModelAudience;
}

/** A key may call these models, of one kind or of all, in the order of the catalogue. */
export const callableModels = (
  caller: Asking,
  snapshot: CatalogueSnapshot,
  { kind, byAuto = false, at = Date.now() }: { kind?: ModelKind; byAuto?: boolean; at?: number } = {},
): ModelView[] => {
  const isOpen = (model: ModelView): boolean =>
    isListed(caller, model, byAuto) && snapshot.isOpenTo(model, caller.attribution);
  return snapshot.models.filter((model) => {
    if (model.state !== 'active' || !isOpen(model)) return false;
    const found = snapshot.resolve(model.name, at);
    return (
      found.kind === 'found' &&
      (kind === undefined || found.model.kind === kind) &&
      isOpen(found.model) &&
      found.lanes.some(({ lane }) => caller.allowedRegions?.has(lane.region) ?? true)
    );
  });
};
