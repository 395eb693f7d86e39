export {
  RATES,
  TOKEN_RATES,
  FLAT_RATES,
  type RateField,
  type RateName,
  type TokenRateName,
} from './rate-table';
export * from './rates';
export * from './cost';
export * from './decimal';
export { ratesPaid } from './paid';
export { feeLines, type RecordedFee, type Surcharge, surcharged } from './surcharges';
export { isSoldByTokens, unpricedFee } from './fee-rates';
