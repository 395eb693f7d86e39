export { type Current, type CurrentModel, type CurrentProvider, readCurrent } from './current';
export type { FieldChange } from './field-texts';
export {
  applyGatewayFile,
  type GatewayFileOptions,
  type GatewayFilePlan,
  planGatewayFile,
} from './gateway-file/gateway-file-plan';
export { readGatewayText } from './gateway-file/read-file';
export { type FileFault, FileFaults } from './gateway-file/file-fault';
export { gatewayText } from './gateway-file/write-file';
export type { PlanRow } from './plan-rows';
export {
  applyPriceList,
  planPriceList,
  type PriceListFormat,
  type PriceListOptions,
  type PriceListPlan,
  readPriceList,
} from './price-list/price-list-plan';
