import { Module } from '@nestjs/common';
import { SecretsModule } from '../../platform';
import { IdempotencyStore } from './idempotency-store';
import { Idempotency } from './idempotency';

@Module({
  imports: [SecretsModule],
  providers: [IdempotencyStore, Idempotency],
  exports: [IdempotencyStore, Idempotency],
})
export class IdempotencyModule {}
