import { Injectable } from '@nestjs/common';
import type { Fee, FeeRequest, PriceComponent } from '#extension';
import type { PricedLane, PriceView } from '../../catalogue';
import { Extensions, type Owned } from '../../extensions';
import { fault, type Surcharge, surcharged } from '../../kernel';
import type { Call } from '../intake';

/** A million dollars a call, and a thousand times the price: more is a slip. */
const MOST_NANO = 1_000_000_000_000_000n;
const MOST_SHARE = 1_000_000_000;
/** A fee that is another for every request is not kept. */
const MOST_PRICES = 10_000;

/** The fees of extensions, as part of the prices that a request is held and charged by. */
@Injectable()
export class Surcharges {
  private readonly components: readonly Owned<PriceComponent>[] | null;
  private readonly known = new WeakMap<PriceView, Map<string, PriceView>>();

  constructor({ priceComponents }: Extensions) {
    this.components = priceComponents.length === 0 ? null : priceComponents;
  }

  /** The same lanes, each with what its price is for this caller. */
  on(lanes: readonly PricedLane[], call: Call): readonly PricedLane[] {
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

  /** One price for all requests with these fees: rates are looked up by it. */
  private priceWith(price: PriceView, surcharges: readonly Surcharge[]): PriceView {
    let known = this.known.get(price);
    if (known === undefined || known.size >= MOST_PRICES)
      this.known.set(price, (known = new Map<string, PriceView>()));
    const terms = JSON.stringify(surcharges);
    let found = known.get(terms);
    if (found === undefined) {
      const { rates } = price;
      found = { ...price, rates: surcharged(rates, surcharges), surcharges, ratesWithoutFees: rates };
      known.set(terms, found);
    }
    return found;
  }
}

function feeRequestOf({ operation, model, tags, inbound }: Call, { lane }: PricedLane): FeeRequest {
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

/** Nothing is served at a price that is not known. */
function surchargeOf({ name, part }: Owned<PriceComponent>, request: FeeRequest): readonly Surcharge[] {
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
  value === undefined || (typeof value === 'bigint' && value >= 0n && value <= MOST_NANO);

/** A promise has no amounts, and would pass for a fee of nothing. */
const isFee = (fee: unknown): fee is Fee => {
  if (typeof fee !== 'object' || fee === null || 'then' in fee) return false;
  const { perCall, perMillionTokens, share = 0 } = fee as Fee;
  return (
    isAmount(perCall) &&
    isAmount(perMillionTokens) &&
    Number.isInteger(share) &&
    share >= 0 &&
    share <= MOST_SHARE
  );
};

const storedFee = (name: string, { perCall = 0n, perMillionTokens = 0n, share = 0 }: Fee): Surcharge => ({
  name,
  per_call: perCall.toString(),
  per_million_tokens: perMillionTokens.toString(),
  share,
});
