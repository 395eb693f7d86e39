/** An account pays from its own wallet, by monthly invoice, or from the wallet of a delegate. */
export const billingTypes = ['prepaid', 'invoiced', 'delegated'] as const;

export type BillingType = (typeof billingTypes)[number];
