export { type ListedObject, type ObjectFacts, ObjectStorage, type PutOptions } from './object-storage';
export type { ByteRange } from './object-reading';
export { StoreFault } from './store-fault';
