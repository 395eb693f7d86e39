import { chargeForNet, nanoPerCent } from '../../kernel';

/** What one top-up credits, in cents. */
export const LEAST_TOP_UP_CENTS = 500n;
export const MOST_TOP_UP_CENTS = 1_000_000n;

/** A top-up worked out, in nano-dollars. */
export interface TopUpExample {
  readonly credit: bigint;
  readonly fee: bigint;
  readonly charge: bigint;
}

export function topUpOf(netCents: bigint): TopUpExample {
  const charge = chargeForNet(netCents);
  return {
    credit: netCents * nanoPerCent,
    fee: (charge - netCents) * nanoPerCent,
    charge: charge * nanoPerCent,
  };
}

const amountText = /^\$?(\d{1,9})(?:[.,](\d{1,2}))?$/;

/** Cents of an amount as people write it; null for what is none, or none that can be topped up. */
export function readTopUpCents(text: string): bigint | null {
  const [, whole, fraction = ''] = amountText.exec(text.trim()) ?? [];
  if (whole === undefined) return null;
  const cents = BigInt(whole) * 100n + BigInt(fraction.padEnd(2, '0'));
  return cents >= LEAST_TOP_UP_CENTS && cents <= MOST_TOP_UP_CENTS ? cents : null;
}
