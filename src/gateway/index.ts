export { GatewayModule } from './gateway.module';
export { Lifecycle } from './lifecycle';
