const FEE_PER_CENT = 5n;
/** Cents credited per 100 cents charged. */
export const CREDITED_PER_CENT = 100n - FEE_PER_CENT;

/** Returns the smallest charge, in cents, that leaves `netCents` after the fee. */
export function chargeForNet(netCents: bigint): bigint {
  if (netCents < 0n) throw new RangeError('a top-up must not be negative');
  return (netCents * 100n + CREDITED_PER_CENT - 1n) / CREDITED_PER_CENT;
}
