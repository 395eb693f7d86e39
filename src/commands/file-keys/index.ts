export { exportedKeys } from './exported-keys';
export { FileKeys, type IssuedFileKey } from './file-keys';
