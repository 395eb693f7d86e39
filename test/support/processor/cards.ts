/** Stripe's own test numbers, and what becomes of a charge of them. */
type CardBehaviour = 'succeeds' | 'declines' | 'declines-later' | 'asks-its-owner';

const numbers: Readonly<Record<string, { brand: string; behaviour: CardBehaviour; code?: string }>> = {
  '4242424242424242': { brand: 'visa', behaviour: 'succeeds' },
  '5555555555554444': { brand: 'mastercard', behaviour: 'succeeds' },
  '4000000000000002': { brand: 'visa', behaviour: 'declines', code: 'generic_decline' },
  '4000000000009995': { brand: 'visa', behaviour: 'declines', code: 'insufficient_funds' },
  // Can be saved, and is declined when it is charged afterwards.
  '4000000000000341': { brand: 'visa', behaviour: 'declines-later', code: 'generic_decline' },
  // 3-D Secure at every charge.
  '4000002760003184': { brand: 'visa', behaviour: 'asks-its-owner' },
};

export interface CardDetails {
  readonly brand: string;
  readonly last4: string;
  readonly behaviour: CardBehaviour;
  readonly declineCode: string | null;
}

export function cardOf(number: string): CardDetails {
  const known = numbers[number];
  if (known === undefined) throw new Error(`no test card: ${number}`);
  const { brand, behaviour, code } = known;
  return { brand, behaviour, last4: number.slice(-4), declineCode: code ?? null };
}
