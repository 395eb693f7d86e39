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
export { markedUpRates } from './marked-up-rates';
export { feeLines, type RecordedFee, type Surcharge, withSurcharges } from './surcharges';
export { isSoldByTokens, unpricedFee } from './fee-rates';
