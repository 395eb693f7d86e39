export {
  type CurrentCatalogue,
  type CurrentLane,
  type CurrentModel,
  type CurrentProvider,
  readCurrent,
} from './current.query';
export { changesBetween, type FieldChange, type FieldTexts, NO_TEXTS } from './field-texts';
export { type GatewayFilePlan, GatewayFilePlanner } from './gateway-file/gateway-file-plan';
export { readGatewayText } from './gateway-file/read-file';
export type { FutureModels, KeyPlanner } from './gateway-file/plan-keys';
export type { DesiredKey, LocatedText } from './gateway-file/read-keys';
export { type FileFault, FileFaults } from './gateway-file/file-fault';
export { gatewayText } from './gateway-file/write-file';
export { writePlanEntries } from './plan-entries';
export type { PlanRow } from './plan-rows';
export type { Step, Steps } from './step';
export { CredentialKeeper } from './gateway-file/credential-keeper';
export {
  type PriceListFormat,
  type PriceListPlan,
  PriceListPlanner,
  readPriceList,
} from './price-list/price-list-plan';
