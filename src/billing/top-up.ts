import { chargeForNet, nanoPerCent } from '../kernel';

/** A top-up credits an amount within these bounds, in cents. */
export const LEAST_TOP_UP_CENTS = 500n;
export const MOST_TOP_UP_CENTS = 1_000_000n;

/** A computed top-up, in nano-dollars. */
export interface TopUpExample {
  readonly credit: bigint;
  readonly fee: bigint;
  readonly charge: bigint;
}

/** The same in whole cents: net and fee are the gross, always. */
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

/** The cents are read from a text that a person typed; null if it is no amount, or none that can be topped up. */
export function readTopUpCents(text: string): bigint | null {
  const cents = readCents(text);
  return cents !== null && isTopUp(cents) ? cents : null;
}

export const isTopUp = (cents: bigint): boolean => cents >= LEAST_TOP_UP_CENTS && cents <= MOST_TOP_UP_CENTS;

/** Any amount is read in cents; anything else is null. */
export function readCents(text: string): bigint | null {
  const [, whole, fraction = ''] = amountText.exec(text.trim()) ?? [];
  return whole === undefined ? null : BigInt(whole) * 100n + BigInt(fraction.padEnd(2, '0'));
}

/**
 * The remaining credit of a top-up after refunds and disputes, in nano-dollars. It is proportional, rounded in the
 * customer's favour, and zero after a full refund.
 */
export function creditThatStands(net: bigint, gross: bigint, takenBack: bigint): bigint {
  const taken = takenBack < gross ? takenBack : gross;
  const credit = net * nanoPerCent;
  return credit - (credit * taken) / gross;
}
