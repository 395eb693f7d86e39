/** What to charge, in cents, for a top-up of `netCents`: the fee is five per cent of the charge. */
export function chargeForNet(netCents: bigint): bigint {
  if (netCents < 0n) throw new RangeError('a top-up must not be negative');
  return (netCents * 100n + 94n) / 95n;
}
