export {
  catalogueLoaded,
  credentialsAccepted,
  isServedByReal,
  suppliersPaid,
  suppliersReachable,
} from './catalogue-checks';
export { tryConnection } from './connect';
export { type CheckContext, fail, type Finding, ok, reasonOf, type Verdict, warn } from './finding';
export {
  baseAddress,
  dataFolder,
  engine,
  mail,
  redis,
  secretsFit,
  settingNames,
} from './surroundings-checks';
