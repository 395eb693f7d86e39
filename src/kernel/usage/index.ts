export * from './usage';
