import { Module } from '@nestjs/common';
import { SecretsModule } from '../../platform';
import { StoredResponses } from '../intake';
import { StoredResponsesService } from './stored-responses.service';
import { ResponseStore } from './response-store';

@Module({
  imports: [SecretsModule],
  providers: [
    ResponseStore,
    StoredResponsesService,
    { provide: StoredResponses, useExisting: StoredResponsesService },
  ],
  exports: [StoredResponses, StoredResponsesService, ResponseStore],
})
export class ResponsesModule {}
