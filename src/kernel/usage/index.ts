export * from './usage';
export * from './fees';
