export { type Nano, nanoPerUsd, nanoPerCent, parseUsd, formatUsd, toJsonNumber } from './usd';
export { type TokenBucket, type UsageLine, priceTokens, priceUsage, chargeForNet } from './price';
export { HoldProof } from './hold-proof';
