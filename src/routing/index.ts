export type { Lane, ModelRoute } from './lane';
export { RouteDirectory } from './route-directory';
export { RoutingModule } from './routing.module';
export { SupplierClient } from './suppliers/supplier-client';
export type { AnswerHead, AnswerReader, SupplierExchange } from './suppliers/supplier-exchange';
