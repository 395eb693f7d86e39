export { masterKeyOf, MasterKeys } from './master-keys';
export { packSealed, unpackSealed } from './packed-secret';
export { rewrap, SecretBox, type SealedSecret, type SecretLocation } from './secret-box';
export { SecretsModule } from './secrets.module';
export { rewrapColumn } from './rewrap-column';
export type { SealedColumn } from './sealed-column';
