import { fault } from '../../kernel';
import type { CatalogueService, ModelView, PricedLane } from '../../catalogue';
import type { SupplierStyles } from '../../routing';
import { isListed } from '../model-access';
import type { Call } from './describe';
import type { Inbound } from './inbound';

export interface Admission {
  readonly model: ModelView;
  /** The lanes that serve the operation, the primary first, each with the price it would be charged at. */
  readonly lanes: readonly PricedLane[];
}

const NOBODY_PAYS =
  'This key belongs to nobody who pays. Name a billing user for its organisation or project.';

/** The cheap refusals, in order; nothing has been spent or sent when one of them fires. */
export function admit(
  inbound: Inbound,
  call: Call,
  catalogue: CatalogueService,
  styles: SupplierStyles,
): Admission {
  const { attribution, billingExempt } = inbound.caller;
  const admission = findModel(inbound, call, catalogue, styles);
  if (!billingExempt && attribution.walletId === null)
    throw fault('billing_limit_reached', { message: NOBODY_PAYS });
  return admission;
}

/** The model and its lanes, for a caller who may use it, whoever pays. */
export function findModel(
  { caller }: Inbound,
  call: Call,
  catalogue: CatalogueService,
  styles: SupplierStyles,
): Admission {
  const found = catalogue.resolve(call.model);
  if (found.kind === 'refused') throw fault(found.code, { param: 'model' });
  const { model, lanes } = found;
  if (model.kind !== call.surface.kind) {
    throw fault('model_not_available', {
      param: 'model',
      message: `${call.model} is not a model for this route.`,
    });
  }
  if (!isListed(caller, model)) throw fault('model_not_allowed', { param: 'model' });
  if (!catalogue.snapshot.isOpenTo(model, caller.attribution))
    throw fault('model_not_accessible', { param: 'model' });
  return { model, lanes: serving(lanes, call, styles) };
}

/** A lane whose supplier does not serve the operation is none for this request, not even to fail over to. */
function serving(
  lanes: readonly PricedLane[],
  { model, surface }: Call,
  styles: SupplierStyles,
): readonly PricedLane[] {
  const left = lanes.filter(({ lane }) => styles.dialectFor(lane.provider, surface.name) !== undefined);
  if (left.length > 0) return left;
  throw fault('model_not_available', {
    param: 'model',
    message: `No supplier of ${model} serves this route.`,
  });
}

/** Where a request may go that is too long for its model; null when there is no such place for this caller. */
export function largerModel(
  inbound: Inbound,
  call: Call,
  { model }: Admission,
  catalogue: CatalogueService,
  styles: SupplierStyles,
): Admission | null {
  const larger = model.overflowTo === null ? undefined : catalogue.snapshot.modelOf(model.overflowTo);
  if (larger === undefined || larger.id === model.id) return null;
  try {
    return admit(inbound, { ...call, model: larger.name }, catalogue, styles);
  } catch {
    // What the caller could not have asked for is not offered either: the first refusal stands.
    return null;
  }
}
