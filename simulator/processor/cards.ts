/** A charge ends in one of these ways. */
type Behaviour = 'succeeds' | 'declines' | 'declines-later' | 'asks-its-owner';

interface Way {
  readonly behaviour: Behaviour;
  readonly brand?: string;
  readonly code?: string;
  /** Of a wallet that shows a card, such as that of a telephone. */
  readonly wallet?: string;
}

const VISA = '4242424242424242';

/** Stripe's own test numbers, and wallets by their names. */
const ways: Readonly<Record<string, Way>> = {
  [VISA]: { brand: 'visa', behaviour: 'succeeds' },
  '5555555555554444': { brand: 'mastercard', behaviour: 'succeeds' },
  '4000000000000002': { brand: 'visa', behaviour: 'declines', code: 'generic_decline' },
  '4000000000009995': { brand: 'visa', behaviour: 'declines', code: 'insufficient_funds' },
  // Can be saved, and is declined when it is charged afterwards.
  '4000000000000341': { brand: 'visa', behaviour: 'declines-later', code: 'generic_decline' },
  // 3-D Secure at every charge.
  '4000002760003184': { brand: 'visa', behaviour: 'asks-its-owner' },
  apple_pay: { brand: 'visa', behaviour: 'succeeds', wallet: 'apple_pay' },
  // A wallet whose cards stay with it: what is saved is the wallet.
  link: { behaviour: 'succeeds' },
};

export interface WayOfPaying {
  readonly behaviour: Behaviour;
  readonly declineCode: string | null;
  /** As the method is shown. */
  readonly shown: Readonly<Record<string, unknown>>;
}

/** Null for a number that is none of the test numbers. */
export function wayOfPaying(name: string): WayOfPaying | null {
  const known = ways[name];
  if (known === undefined) return null;
  const { behaviour, brand, code, wallet } = known;
  const card = {
    brand,
    last4: (wallet === undefined ? name : VISA).slice(-4),
    exp_month: 8,
    exp_year: 2031,
    wallet: wallet === undefined ? null : { type: wallet },
  };
  const shown = brand === undefined ? { type: name, link: { email: null } } : { type: 'card', card };
  return { behaviour, declineCode: code ?? null, shown };
}

export const waysToPay: readonly string[] = Object.keys(ways);
