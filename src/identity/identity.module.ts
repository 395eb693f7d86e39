import { Module } from '@nestjs/common';
import { AuditModule } from '../audit';
import { accountProviders } from './accounts';
import { PayerService } from './payer.service';
import { SessionsService } from './sessions.service';

const providers = [PayerService, SessionsService, ...accountProviders];

@Module({ imports: [AuditModule], providers, exports: providers })
export class IdentityModule {}
