export { ObjectStorage } from './object-storage';
export { StoreFault } from './store-fault';
