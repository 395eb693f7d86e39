/** The part of a charge, in per cent, that is the fee of a top-up. */
const FEE_PER_CENT = 5n;
const CREDITED_PER_CENT = 100n - FEE_PER_CENT;

/** What to charge, in cents, for a top-up of `netCents`: the least charge that leaves it after the fee. */
export function chargeForNet(netCents: bigint): bigint {
  if (netCents < 0n) throw new RangeError('a top-up must not be negative');
  return (netCents * 100n + CREDITED_PER_CENT - 1n) / CREDITED_PER_CENT;
}
