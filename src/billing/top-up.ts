import { chargeForNet, nanoPerCent } from '../kernel';

export const MIN_TOP_UP_CENTS = 500n;
export const MAX_TOP_UP_CENTS = 1_000_000n;

/** A computed top-up, in nano-dollars. */
export interface TopUpExample {
  readonly credit: bigint;
  readonly fee: bigint;
  readonly charge: bigint;
}

/** A top-up in whole cents; net plus fee always equals gross. */
export interface TopUpCents {
  readonly net: bigint;
  readonly fee: bigint;
  readonly gross: bigint;
}

export function topUpCents(net: bigint): TopUpCents {
  const gross = chargeForNet(net);
  return { net, fee: gross - net, gross };
}

export function topUpOf(netCents: bigint): TopUpExample {
  const { net, fee, gross } = topUpCents(netCents);
  return { credit: net * nanoPerCent, fee: fee * nanoPerCent, charge: gross * nanoPerCent };
}

const amountText = /^\$?(\d{1,9})(?:[.,](\d{1,2}))?$/;

/** Parses what a user typed. Returns null if the text is not an amount, or one outside the limits of a top-up. */
export function readTopUpCents(text: string): bigint | null {
  const cents = readCents(text);
  return cents !== null && isTopUp(cents) ? cents : null;
}

export const isTopUp = (cents: bigint): boolean => cents >= MIN_TOP_UP_CENTS && cents <= MAX_TOP_UP_CENTS;

/** Returns null if the text is not an amount of dollars. */
export function readCents(text: string): bigint | null {
  const [, dollars, fraction = ''] = amountText.exec(text.trim()) ?? [];
  return dollars === undefined ? null : BigInt(dollars) * 100n + BigInt(fraction.padEnd(2, '0'));
}

/**
 * Returns the credit that remains after refunds and disputes, in nano-dollars. The refund is proportional, rounded in
 * the customer's favour; a full refund leaves zero.
 */
export function remainingCredit(net: bigint, gross: bigint, refundedCents: bigint): bigint {
  const cappedRefund = refundedCents < gross ? refundedCents : gross;
  const credit = net * nanoPerCent;
  return credit - (credit * cappedRefund) / gross;
}
