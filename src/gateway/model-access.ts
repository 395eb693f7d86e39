import {
  type CatalogueSnapshot,
  isRetired,
  type ModelAudience,
  type ModelKind,
  type ModelView,
} from '../catalogue';
import type { Caller } from '../keys';

/**
 * Whether a key's list names a model, by its own name or an alias. The target of a redirect must be on the list
 * itself.
 */
export const isListed = (
  { allowedModels }: Pick<Caller, 'allowedModels'>,
  { name, aliases }: ModelView,
): boolean =>
  allowedModels === null || allowedModels.has(name) || aliases.some((alias) => allowedModels.has(alias));

/** What a key may call, of one kind or of all, in the order of the catalogue. */
export const callableModels = (
  caller: Pick<Caller, 'allowedModels'> & { readonly attribution: ModelAudience },
  snapshot: CatalogueSnapshot,
  kind?: ModelKind,
  at = Date.now(),
): ModelView[] =>
  snapshot.models.filter(
    (model) =>
      model.state === 'active' &&
      (model.redirectTo !== null || !isRetired(model, at)) &&
      model.lanes.length > 0 &&
      (kind === undefined || model.kind === kind) &&
      isListed(caller, model) &&
      snapshot.isOpenTo(model, caller.attribution),
  );
