import { Module } from '@nestjs/common';
import { PayerService } from './payer.service';
import { SessionsService } from './sessions.service';

@Module({ providers: [PayerService, SessionsService], exports: [PayerService, SessionsService] })
export class IdentityModule {}
