import { Module } from '@nestjs/common';
import { SecretsModule } from '../../platform';
import { KeptResponses } from './kept-responses';
import { ResponseStore } from './response-store';

@Module({
  imports: [SecretsModule],
  providers: [ResponseStore, KeptResponses],
  exports: [ResponseStore, KeptResponses],
})
export class ResponsesModule {}
