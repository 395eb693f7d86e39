import { fault } from '../../kernel';
import type { CatalogueService, ModelView, PricedLane } from '../../catalogue';
import { isListed } from '../model-access';
import type { Call } from './describe';
import type { Inbound } from './inbound';

export interface Admission {
  readonly model: ModelView;
  /** Where the request may go, the primary first, each with the price it would be charged at. */
  readonly lanes: readonly PricedLane[];
}

const NOBODY_PAYS =
  'This key belongs to nobody who pays. Name a billing user for its organisation or project.';

/** The cheap refusals, in order; nothing has been spent or sent when one of them fires. */
export function admit(inbound: Inbound, call: Call, catalogue: CatalogueService): Admission {
  const { attribution, billingExempt } = inbound.caller;
  const found = catalogue.resolve(call.model);
  if (found.kind === 'refused') throw fault(found.code, { param: 'model' });
  const { model, lanes } = found;
  if (model.kind !== call.surface.kind) {
    throw fault('model_not_available', {
      param: 'model',
      message: `${call.model} is not a model for this route.`,
    });
  }
  if (!isListed(inbound.caller, model)) throw fault('model_not_allowed', { param: 'model' });
  if (!catalogue.snapshot.isOpenTo(model, attribution))
    throw fault('model_not_accessible', { param: 'model' });
  if (!billingExempt && attribution.walletId === null)
    throw fault('billing_limit_reached', { message: NOBODY_PAYS });
  return { model, lanes };
}
