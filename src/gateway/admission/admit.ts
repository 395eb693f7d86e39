import { Injectable } from '@nestjs/common';
import { CatalogueService, type ModelView, type PricedLane } from '../../catalogue';
import {
  type RequestedFees,
  type Fault,
  fault,
  fromUnknown,
  NO_REQUESTED_FEES,
  unpricedFee,
} from '../../kernel';
import { Settings } from '../../platform';
import { SupplierStyles, type WireDialect } from '../../routing';
import { AUTO, type GatewayCall } from '../intake';
import { isText } from '../operations/operation';
import type { Admission } from './admission';
import { AdmissionChecks } from './admission-checks';
import { lanesServing } from './field-policy';
import { callableModels } from './model-access';
import type { ChosenRoute } from './model-chooser';
import { Surcharges } from './surcharges';

const NO_PAYER_MESSAGE =
  'This key belongs to nobody who pays. Name a billing user for its organisation or project.';
const INACTIVE_PAYER_MESSAGE =
  'The account that pays for this key is not active. Have it restored, or name another payer.';

/** Decides the model and lanes of a request. Refusals here are cheap: nothing has been spent or sent. */
@Injectable()
export class Admissions {
  constructor(
    private readonly catalogue: CatalogueService,
    private readonly styles: SupplierStyles,
    private readonly checks: AdmissionChecks,
    private readonly surcharges: Surcharges,
    private readonly settings: Settings,
  ) {}

  /**
   * Runs the checks in order. A request that is certainly too long goes to the larger model immediately, or is refused.
   */
  admit(call: GatewayCall): Admission {
    const admission = this.permit(call);
    const problem = contextError(call, admission.model);
    if (problem === null) return admission;
    const larger = this.findLargerAdmission(call, admission, null, problem);
    if (larger === null) throw problem;
    return larger;
  }

  find(call: GatewayCall): Admission {
    this.assertRegion(call);
    const { model, lanes } = this.resolve(call);
    this.checks.verify(model, call);
    const serving = this.lanesForOperation(lanes, call);
    const { lanes: takingLanes, withheldBy } = lanesServing(
      call,
      serving,
      this.styles,
      this.settings.safeguardsModel !== undefined,
    );
    return { model, lanes: this.surcharges.apply(this.pricedLanes(takingLanes, call), call), withheldBy };
  }

  assertPayer({ inbound }: GatewayCall): void {
    const { attribution, billingExempt, payerId } = inbound.caller;
    if (!billingExempt && attribution.walletId === null)
      throw fault('billing_limit_reached', {
        message: payerId === null ? NO_PAYER_MESSAGE : INACTIVE_PAYER_MESSAGE,
      });
  }

  assertRegion({ region }: GatewayCall): void {
    if (region === null || this.catalogue.snapshot.regions.has(region)) return;
    throw fault('invalid_request', {
      param: 'region',
      message: `No model is served in a region "${region}".`,
    });
  }

  findLargerAdmission(
    call: GatewayCall,
    admission: Admission,
    chosen: ChosenRoute | null,
    error: unknown,
  ): Admission | null {
    if (fromUnknown(error).code !== 'context_length_exceeded') return null;
    const larger = this.admitLargerModel(call, admission);
    // Models excluded from `auto` by settings, regions or the conversation stay excluded.
    return larger === null || chosen === null ? larger : chosen.switchTo(larger);
  }

  private permit(call: GatewayCall): Admission {
    const admission = this.find(call);
    this.assertPayer(call);
    return admission;
  }

  /** Null if there is no larger model, or the caller is not allowed to use it. */
  private admitLargerModel(call: GatewayCall, { model }: Admission): Admission | null {
    const larger = model.overflowTo === null ? undefined : this.catalogue.snapshot.modelOf(model.overflowTo);
    if (larger === undefined || larger.id === model.id) return null;
    try {
      return this.permit({ ...call, model: larger.name });
    } catch {
      // The original error is reported if the caller is not allowed to use the larger model.
      return null;
    }
  }

  private resolve(call: GatewayCall): Omit<Admission, 'withheldBy'> {
    const resolution = this.catalogue.resolve(this.nameOf(call));
    if (resolution.kind === 'refused') throw fault(resolution.code, { param: 'model' });
    return resolution;
  }

  private nameOf({ inbound, model, operation }: GatewayCall): string {
    const { snapshot } = this.catalogue;
    if (model !== AUTO || snapshot.model(AUTO) !== undefined) return model;
    // If no model is called, as when tokens are counted, one model stands in for `auto`.
    const reference =
      this.settings.autoModel ??
      callableModels(inbound.caller, snapshot, { kind: operation.kind, byAuto: true })[0]?.name;
    if (reference === undefined) throw fault('autorouter_no_candidate', { param: 'model' });
    return reference;
  }

  private lanesForOperation(lanes: readonly PricedLane[], call: GatewayCall): readonly PricedLane[] {
    const { model, operation } = call;
    const serves = ({ lane }: PricedLane): boolean =>
      this.styles.dialectFor(lane.provider, operation.name) !== undefined;
    const servingLanes = lanes.every(serves) ? lanes : lanes.filter(serves);
    if (servingLanes.length > 0) return servingLanes;
    throw fault('model_not_available', {
      param: 'model',
      message: `No supplier of ${model} serves this route.`,
    });
  }

  /** Leaves out lanes whose price lacks something that the request can be billed for: nothing is served free. */
  private pricedLanes(lanes: readonly PricedLane[], call: GatewayCall): readonly PricedLane[] {
    if (call.fees === NO_REQUESTED_FEES) return lanes;
    let unpricedFeeName: string | null = null;
    const fullyPriced = lanes.filter(({ lane, price }) => {
      const fees = feesOn(call, this.styles.wireFor(lane, call.operation.name, call.needs));
      const fee = unpricedFee(price.rates, fees);
      unpricedFeeName ??= fee;
      return fee === null;
    });
    if (fullyPriced.length === lanes.length) return lanes;
    if (fullyPriced.length > 0) return fullyPriced;
    throw fault('supplier_price_unresolved', {
      message: `The price of ${call.model} says nothing of ${unpricedFeeName}, which this request asks for. Ask without it, or have its operator set the price.`,
      details: { fee: unpricedFeeName },
    });
  }
}

/** Null also if only the supplier can tell. */
const contextError = ({ operation, inbound }: GatewayCall, { contextTokens }: ModelView): Fault | null =>
  operation.tooLong?.(inbound.body, contextTokens) ?? null;

const TIERED_DIALECTS: ReadonlySet<string> = new Set(['chat', 'responses']);

/** The requested fees that reach a supplier of this dialect: a conversion drops the rest. */
function feesOn({ operation, fees }: GatewayCall, wire: WireDialect | undefined): RequestedFees {
  if (
    fees === NO_REQUESTED_FEES ||
    !isText(operation) ||
    wire === operation.name ||
    wire === operation.dialect.name
  )
    return fees;
  const { service_tier: tier } = fees.modes;
  const isForwarded =
    tier !== undefined && TIERED_DIALECTS.has(operation.dialect.name) && TIERED_DIALECTS.has(wire ?? '');
  return isForwarded ? { ...NO_REQUESTED_FEES, modes: { service_tier: tier } } : NO_REQUESTED_FEES;
}
