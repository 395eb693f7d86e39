import type { CatalogueSnapshot, ModelAudience, ModelKind, ModelView } from '../../catalogue';
import type { Caller } from '../../keys';
import { AUTO } from '../intake';

/**
 * Returns true if the key's list names the model or an alias; a redirect's target must be listed itself. A list of only
 * `auto` leaves all models to the service (`byAuto`).
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

interface ModelCaller extends Pick<Caller, 'allowedModels' | 'allowedRegions'> {
  readonly attribution: ModelAudience;
}

export const callableModels = (
  caller: ModelCaller,
  snapshot: CatalogueSnapshot,
  { kind, byAuto = false, at = Date.now() }: { kind?: ModelKind; byAuto?: boolean; at?: number } = {},
): ModelView[] => {
  const isOpen = (model: ModelView): boolean =>
    isListed(caller, model, byAuto) && snapshot.isOpenTo(model, caller.attribution);
  return snapshot.models.filter((model) => {
    if (model.state !== 'active' || !isOpen(model)) return false;
    const resolution = snapshot.resolve(model.name, at);
    return (
      resolution.kind === 'found' &&
      (kind === undefined || resolution.model.kind === kind) &&
      isOpen(resolution.model) &&
      resolution.lanes.some(({ lane }) => caller.allowedRegions?.has(lane.region) ?? true)
    );
  });
};
