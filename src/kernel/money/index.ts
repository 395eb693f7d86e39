export { type Nano, nanoPerUsd, nanoPerCent, parseUsd, formatUsd, toJsonNumber } from './usd';
export { chargeForNet } from './top-up';
export { HoldProof } from './hold-proof';
export { invoiceAccountOf, isInvoiceAccount } from './invoice-account';
