import type { Nano } from './usd';

export interface TokenBucket {
  /** Nano-dollars for a million tokens. */
  readonly price: Nano;
  readonly tokens: number | bigint;
}

export interface UsageLine {
  readonly price: Nano;
  /** How much was used. */
  readonly quantity: number | bigint;
  /** How much the price is for: 1_000_000 tokens, 1 call, 60_000 milliseconds. */
  readonly per: bigint;
}

const million = 1_000_000n;

function count(quantity: number | bigint): bigint {
  const whole = typeof quantity === 'bigint' || Number.isSafeInteger(quantity);
  if (!whole || quantity < 0) throw new RangeError('a quantity must be a whole number that is not negative');
  return BigInt(quantity);
}

function priced(price: Nano): Nano {
  if (price < 0n) throw new RangeError('a price must not be negative');
  return price;
}

const divideUp = (amount: bigint, divisor: bigint): bigint => (amount + divisor - 1n) / divisor;

/** The cost of disjoint token buckets: exact products, one rounding, up, at the very end. */
export function priceTokens(buckets: readonly TokenBucket[]): Nano {
  let sum = 0n;
  for (const { price, tokens } of buckets) sum += priced(price) * count(tokens);
  return divideUp(sum, million);
}

/** The same for lines priced by different units (tokens, calls, audio time): still one rounding. */
export function priceUsage(lines: readonly UsageLine[]): Nano {
  let sum = 0n;
  let divisor = 1n;
  for (const { price, quantity, per } of lines) {
    if (per <= 0n) throw new RangeError('a price must be for a positive quantity');
    const amount = priced(price) * count(quantity);
    if (divisor % per === 0n) {
      sum += amount * (divisor / per);
    } else {
      sum = sum * per + amount * divisor;
      divisor *= per;
    }
  }
  return divideUp(sum, divisor);
}

/** What to charge, in cents, for a top-up of `netCents`: the fee is five per cent of the charge. */
export function chargeForNet(netCents: bigint): bigint {
  if (netCents < 0n) throw new RangeError('a top-up must not be negative');
  return divideUp(netCents * 100n, 95n);
}
