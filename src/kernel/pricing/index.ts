export * from './rates';
export * from './cost';
export * from './decimal';
export { unpricedFee, useRate, imageRate } from './fee-rates';
