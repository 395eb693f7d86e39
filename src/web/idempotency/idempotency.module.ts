import { Module } from '@nestjs/common';
import { SecretsModule } from '../../platform';
import { AnswerStore } from './answer-store';
import { Idempotency } from './idempotency';

@Module({
  imports: [SecretsModule],
  providers: [AnswerStore, Idempotency],
  exports: [AnswerStore, Idempotency],
})
export class IdempotencyModule {}
