export {
  catalogueLoaded,
  credentialsAccepted,
  isServedByReal,
  safeguardsJudged,
  suppliersPaid,
  suppliersReachable,
} from './catalogue-checks';
export { egress, http2Ignored, providersCertified } from './egress-checks';
export { type CheckContext, fail, type Finding, ok, reasonOf, warn } from './finding';
export {
  baseAddress,
  dataFolder,
  engine,
  mail,
  redis,
  secretsFit,
  settingNames,
} from './surroundings-checks';
