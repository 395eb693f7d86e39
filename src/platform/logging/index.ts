export { Logger } from './logger';
export { LoggingModule } from './logging.module';
export { NestLogger } from './nest-logger';
export { redact, redactText } from './redact';
export { addressRedactor } from './redact-address';
