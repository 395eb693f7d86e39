export { exportedKeys } from './exported-keys';
export { FileKeys, type FreshKey } from './file-keys';
