/**
 * A payer has a wallet under their own number, and an invoice account under the negated number. The balance of the
 * invoice account is payments minus usage.
 */
export const invoiceAccountOf = (payerId: number): number => -payerId;

export const isInvoiceAccount = (accountId: number): boolean => accountId < 0;
