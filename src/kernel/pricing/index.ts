export * from './rates';
export * from './cost';
export * from './decimal';
export { ratesPaid } from './paid';
export { unpricedFee } from './fee-rates';
