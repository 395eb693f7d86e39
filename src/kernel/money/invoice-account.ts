/**
 * A payer has two accounts, which are kept alike. Their wallet has the number of the payer, and what they are
 * billed for by invoice has the negated number. The balance of the second is what was paid less what was
 * used.
 */
export const invoiceAccountOf = (payerId: number): number => -payerId;

export const isInvoiceAccount = (accountId: number): boolean => accountId < 0;
