export { RoutingModule } from './routing.module';
export { SupplierClient } from './suppliers/supplier-client';
export type { AnswerHead, AnswerReader, SupplierExchange } from './suppliers/supplier-exchange';
