import { Injectable } from '@nestjs/common';
import type { Fee, FeeRequest, PriceComponent } from '#extension';
import type { PricedLane, PriceView } from '../../catalogue';
import { Extensions, type ExtensionPart } from '../../extensions';
import { fault, type Surcharge, withSurcharges } from '../../kernel';
import type { GatewayCall } from '../intake';

/** Limits of a fee: a million dollars per call, or a thousand times the price. A higher fee is a mistake. */
const MAX_FEE_NANO = 1_000_000_000_000_000n;
const MAX_FEE_SHARE = 1_000_000_000;
/** Cache limit per price: fees that differ for every request are not cached. */
const MAX_CACHED_PRICES = 10_000;

@Injectable()
export class Surcharges {
  private readonly components: readonly ExtensionPart<PriceComponent>[] | null;
  private readonly pricesWithFees = new WeakMap<PriceView, Map<string, PriceView>>();

  constructor({ priceComponents }: Extensions) {
    this.components = priceComponents.length === 0 ? null : priceComponents;
  }

  apply(lanes: readonly PricedLane[], call: GatewayCall): readonly PricedLane[] {
    const { components } = this;
    if (components === null) return lanes;
    return lanes.map((priced) => {
      const request = feeRequestOf(call, priced);
      const surcharges = components.flatMap((component) => surchargeOf(component, request));
      return surcharges.length === 0
        ? priced
        : { ...priced, price: this.priceWith(priced.price, surcharges) };
    });
  }

  /** Returns the same object for the same fees, as rates are looked up by identity. */
  private priceWith(price: PriceView, surcharges: readonly Surcharge[]): PriceView {
    let known = this.pricesWithFees.get(price);
    if (known === undefined || known.size >= MAX_CACHED_PRICES)
      this.pricesWithFees.set(price, (known = new Map<string, PriceView>()));
    const terms = JSON.stringify(surcharges);
    let priceWithFees = known.get(terms);
    if (priceWithFees === undefined) {
      const { rates } = price;
      priceWithFees = {
        ...price,
        rates: withSurcharges(rates, surcharges),
        surcharges,
        ratesWithoutFees: rates,
      };
      known.set(terms, priceWithFees);
    }
    return priceWithFees;
  }
}

function feeRequestOf({ operation, model, tags, inbound }: GatewayCall, { lane }: PricedLane): FeeRequest {
  const { keyId, attribution } = inbound.caller;
  const { userId, organisationId, departmentId, projectId } = attribution;
  return {
    operation: operation.name,
    model,
    supplier: lane.provider.name,
    region: lane.region,
    tags: tags ?? [],
    key: { id: keyId, userId, organisationId, departmentId, projectId },
  };
}

/** Throws if the fee cannot be determined: nothing is served at an unknown price. */
function surchargeOf(
  { name, part }: ExtensionPart<PriceComponent>,
  request: FeeRequest,
): readonly Surcharge[] {
  let cause: unknown;
  try {
    const fee = part.fee(request);
    if (fee === null) return [];
    if (isFee(fee)) return [storedFee(name, fee)];
  } catch (error) {
    cause = error;
  }
  throw fault('supplier_price_unresolved', {
    message: `The fee ${name} could not be determined.`,
    details: { fee: name },
    cause,
  });
}

const isAmount = (value: unknown): boolean =>
  value === undefined || (typeof value === 'bigint' && value >= 0n && value <= MAX_FEE_NANO);

/** Rejects promises, which would pass for a fee of zero. */
const isFee = (fee: unknown): fee is Fee => {
  if (typeof fee !== 'object' || fee === null || 'then' in fee) return false;
  const { perCall, perMillionTokens, share = 0 } = fee as Fee;
  return (
    isAmount(perCall) &&
    isAmount(perMillionTokens) &&
    Number.isInteger(share) &&
    share >= 0 &&
    share <= MAX_FEE_SHARE
  );
};

const storedFee = (name: string, { perCall = 0n, perMillionTokens = 0n, share = 0 }: Fee): Surcharge => ({
  name,
  per_call: perCall.toString(),
  per_million_tokens: perMillionTokens.toString(),
  share,
});
