export { GatewayModule } from './gateway.module';
export { AnswerStore } from './idempotency/answer-store';
export { IdempotencyModule } from './idempotency/idempotency.module';
export { Lifecycle } from './lifecycle';
