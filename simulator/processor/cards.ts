/** Outcome of a charge. */
type CardBehaviour = 'succeeds' | 'declines' | 'declines-later' | 'asks-its-owner';

interface PaymentMethodTemplate {
  readonly behaviour: CardBehaviour;
  readonly brand?: string;
  readonly code?: string;
  /** Wallet that shows a card, such as that of a phone. */
  readonly wallet?: string;
}

const VISA = '4242424242424242';

/** Stripe's test card numbers, and wallets by name. */
const templates: Readonly<Record<string, PaymentMethodTemplate>> = {
  [VISA]: { brand: 'visa', behaviour: 'succeeds' },
  '5555555555554444': { brand: 'mastercard', behaviour: 'succeeds' },
  '4000000000000002': { brand: 'visa', behaviour: 'declines', code: 'generic_decline' },
  '4000000000009995': { brand: 'visa', behaviour: 'declines', code: 'insufficient_funds' },
  // Can be saved, and is declined when charged later.
  '4000000000000341': { brand: 'visa', behaviour: 'declines-later', code: 'generic_decline' },
  // Requires 3-D Secure for every charge.
  '4000002760003184': { brand: 'visa', behaviour: 'asks-its-owner' },
  apple_pay: { brand: 'visa', behaviour: 'succeeds', wallet: 'apple_pay' },
  // Wallet that does not reveal its cards: the wallet itself is saved.
  link: { behaviour: 'succeeds' },
};

export interface TestPaymentMethod {
  readonly behaviour: CardBehaviour;
  readonly declineCode: string | null;
  /** Payment method details of the API. */
  readonly details: Readonly<Record<string, unknown>>;
}

/** Returns null if the name is not a known test number or wallet. */
export function testPaymentMethod(name: string): TestPaymentMethod | null {
  const template = templates[name];
  if (template === undefined) return null;
  const { behaviour, brand, code, wallet } = template;
  const card = {
    brand,
    last4: (wallet === undefined ? name : VISA).slice(-4),
    exp_month: 8,
    exp_year: 2031,
    wallet: wallet === undefined ? null : { type: wallet },
  };
  const details = brand === undefined ? { type: name, link: { email: null } } : { type: 'card', card };
  return { behaviour, declineCode: code ?? null, details };
}

export const testPaymentMethodNames: readonly string[] = Object.keys(templates);
