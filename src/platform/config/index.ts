export { ConfigModule } from './config.module';
export { describeEffective } from './describe-effective';
export { certificatesIn, DIRECT, earliestExpiry, isKeyOf } from './egress-readers';
export { configurationPage, environmentExample } from './generate';
export { loadSettings } from './load-settings';
export { isLoopback, isLoopbackOrigin } from './loopback';
export { servesGateway, servesPortal } from './process-settings';
export { processEnvironment } from './process-environment';
export type { AllowedNetwork } from './readers';
export { Settings } from './settings';
export { EXIT_CONFIGURATION, SettingsError } from './settings-error';
export type { RoleMap } from './sign-in-settings';
export { spellingWarnings } from './spelling';
export {
  credentialIn,
  type StorageCredential,
  storageOrigin,
  type StorageLocation,
  storageLocation,
} from './storage-location';
export { errorCode } from './error-code';
export { hasEmbeddedDatabase } from './data-folder';
export { readOrCreateSecrets } from './secrets';
export {
  headerIn,
  type PostSinkSetting,
  sinkOrigin,
  type SinkSetting,
  type StorageSinkSetting,
} from './sinks';
