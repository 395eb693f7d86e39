import { Module } from '@nestjs/common';
import { SecretsModule } from '../../platform';
import { KeptAnswers } from '../intake';
import { KeptResponses } from './kept-responses';
import { ResponseStore } from './response-store';

@Module({
  imports: [SecretsModule],
  providers: [ResponseStore, KeptResponses, { provide: KeptAnswers, useExisting: KeptResponses }],
  exports: [KeptAnswers, KeptResponses, ResponseStore],
})
export class ResponsesModule {}
