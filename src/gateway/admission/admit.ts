import { Injectable } from '@nestjs/common';
import { CatalogueService, type ModelView, type PricedLane } from '../../catalogue';
import { type AskedFees, type Fault, fault, fromUnknown, NOTHING_ASKED, unpricedFee } from '../../kernel';
import { Settings } from '../../platform';
import { SupplierStyles, type WireDialect } from '../../routing';
import { AUTO, type Call } from '../intake';
import { isText } from '../operations/operation';
import type { Admission } from './admission';
import { AdmissionChecks } from './admission-checks';
import { lanesServing } from './field-policy';
import { callableModels } from './model-access';
import type { ChosenRoute } from './model-chooser';
import { Surcharges } from './surcharges';

const NO_PAYER = 'This key belongs to nobody who pays. Name a billing user for its organisation or project.';
const PAYER_NOT_ACTIVE =
  'The account that pays for this key is not active. Have it restored, or name another payer.';

/** Decides the model and lanes of a request. Refusals here are cheap: nothing was spent or sent. */
@Injectable()
export class Admissions {
  constructor(
    private readonly catalogue: CatalogueService,
    private readonly styles: SupplierStyles,
    private readonly checks: AdmissionChecks,
    private readonly surcharges: Surcharges,
    private readonly settings: Settings,
  ) {}

  /** The checks in their order; what is certainly too long goes to the larger model at once, or is refused. */
  admit(call: Call): Admission {
    const admission = this.permit(call);
    const problem = tooLong(call, admission.model);
    if (problem === null) return admission;
    const larger = this.larger(call, admission, null, problem);
    if (larger === null) throw problem;
    return larger;
  }

  /** The model and its lanes for a caller who may use it; the payer is not checked. */
  find(call: Call): Admission {
    this.mustKnowRegion(call);
    const { model, lanes } = this.resolved(call);
    this.checks.verify(model, call);
    const serving = this.serving(lanes, call);
    const { lanes: taking, withheldBy } = lanesServing(
      call,
      serving,
      this.styles,
      this.settings.safeguardsModel !== undefined,
    );
    return { model, lanes: this.surcharges.on(this.priced(taking, call), call), withheldBy };
  }

  /** Throws where no wallet can be charged. */
  mustBePaid({ inbound }: Call): void {
    const { attribution, billingExempt, payerId } = inbound.caller;
    if (!billingExempt && attribution.walletId === null)
      throw fault('billing_limit_reached', { message: payerId === null ? NO_PAYER : PAYER_NOT_ACTIVE });
  }

  /** Throws where the call names a region that no lane of the catalogue lies in. */
  mustKnowRegion({ region }: Call): void {
    if (region === null || this.catalogue.snapshot.regions.has(region)) return;
    throw fault('invalid_request', {
      param: 'region',
      message: `No model is served in a region "${region}".`,
    });
  }

  /** A conversation too long for its model goes to the larger model of the catalogue, if there is one. */
  larger(call: Call, admission: Admission, chosen: ChosenRoute | null, error: unknown): Admission | null {
    if (fromUnknown(error).code !== 'context_length_exceeded') return null;
    const larger = this.largerThan(call, admission);
    // Models excluded from `auto` by settings, regions or the conversation stay excluded.
    return larger === null || chosen === null ? larger : chosen.instead(larger);
  }

  private permit(call: Call): Admission {
    const admission = this.find(call);
    this.mustBePaid(call);
    return admission;
  }

  /** It is null when there is none for this caller. */
  private largerThan(call: Call, { model }: Admission): Admission | null {
    const larger = model.overflowTo === null ? undefined : this.catalogue.snapshot.modelOf(model.overflowTo);
    if (larger === undefined || larger.id === model.id) return null;
    try {
      return this.permit({ ...call, model: larger.name });
    } catch {
      // A larger model that the caller may not use is not offered: the first refusal stands.
      return null;
    }
  }

  private resolved(call: Call): Omit<Admission, 'withheldBy'> {
    const found = this.catalogue.resolve(this.nameOf(call));
    if (found.kind === 'refused') throw fault(found.code, { param: 'model' });
    return found;
  }

  private nameOf({ inbound, model, operation }: Call): string {
    const { snapshot } = this.catalogue;
    if (model !== AUTO || snapshot.model(AUTO) !== undefined) return model;
    // Where nothing is answered, such as when tokens are counted, one model stands for all.
    const reference =
      this.settings.autoModel ??
      callableModels(inbound.caller, snapshot, { kind: operation.kind, byAuto: true })[0]?.name;
    if (reference === undefined) throw fault('autorouter_no_candidate', { param: 'model' });
    return reference;
  }

  /** Lanes whose supplier does not serve the operation are left out, also for failover. */
  private serving(lanes: readonly PricedLane[], call: Call): readonly PricedLane[] {
    const { model, operation } = call;
    const serves = ({ lane }: PricedLane): boolean =>
      this.styles.dialectFor(lane.provider, operation.name) !== undefined;
    const left = lanes.every(serves) ? lanes : lanes.filter(serves);
    if (left.length > 0) return left;
    throw fault('model_not_available', {
      param: 'model',
      message: `No supplier of ${model} serves this route.`,
    });
  }

  /** Lanes whose price lacks something that the request can be billed for are left out: nothing is served free. */
  private priced(lanes: readonly PricedLane[], call: Call): readonly PricedLane[] {
    if (call.fees === NOTHING_ASKED) return lanes;
    let unknown: string | null = null;
    const left = lanes.filter(({ lane, price }) => {
      const fees = feesOn(call, this.styles.wireFor(lane, call.operation.name, call.needs));
      const fee = unpricedFee(price.rates, fees);
      unknown ??= fee;
      return fee === null;
    });
    if (left.length === lanes.length) return lanes;
    if (left.length > 0) return left;
    throw fault('supplier_price_unresolved', {
      message: `The price of ${call.model} says nothing of ${unknown}, which this request asks for. Ask without it, or have its operator set the price.`,
      details: { fee: unknown },
    });
  }
}

/** Where only the supplier can tell, it is not. */
const tooLong = ({ operation, inbound }: Call, { contextTokens }: ModelView): Fault | null =>
  operation.tooLong?.(inbound.body, contextTokens) ?? null;

const TIERED: ReadonlySet<string> = new Set(['chat', 'responses']);

/** The requested fees that reach a supplier of this dialect: a translation drops the rest. */
function feesOn({ operation, fees }: Call, wire: WireDialect | undefined): AskedFees {
  if (
    fees === NOTHING_ASKED ||
    !isText(operation) ||
    wire === operation.name ||
    wire === operation.dialect.name
  )
    return fees;
  const { service_tier: tier } = fees.modes;
  const isCarried = tier !== undefined && TIERED.has(operation.dialect.name) && TIERED.has(wire ?? '');
  return isCarried ? { ...NOTHING_ASKED, modes: { service_tier: tier } } : NOTHING_ASKED;
}
