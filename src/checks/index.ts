export {
  checkCatalogue,
  checkCredentials,
  isServedByRealSupplier,
  checkSafeguardsModel,
  checkSupplierKeys,
  checkSuppliersReachable,
} from './catalogue-checks';
export { checkEgress, checkHttp2Settings, checkProviderCertificates } from './egress-checks';
export { type CheckContext, fail, type CheckFinding, ok, reasonOf, warn } from './check-finding';
export {
  checkBaseUrl,
  checkDataFolder,
  checkEngine,
  checkMail,
  checkRedis,
  checkSecrets,
  checkSettingNames,
} from './environment-checks';
