export * from './rates';
export * from './cost';
export * from './decimal';
