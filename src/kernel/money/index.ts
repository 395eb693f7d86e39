export { type Nano, nanoPerUsd, nanoPerCent, parseUsd, formatUsd, toJsonNumber } from './usd';
export { chargeForNet, CREDITED_PER_CENT } from './top-up';
export { HoldProof } from './hold-proof';
export { invoiceAccountOf, isInvoiceAccount } from './invoice-account';
