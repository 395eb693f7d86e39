import { Module } from '@nestjs/common';
import { AuditModule } from '../audit';
import { BillingModule } from '../billing';
import { KeysModule } from '../keys';
import { WebModule } from '../web';
import { Quarantine } from './quarantine';
import { QuarantineResponder } from './quarantine-responder';

@Module({
  imports: [AuditModule, BillingModule, KeysModule, WebModule],
  providers: [Quarantine, QuarantineResponder],
  exports: [Quarantine, QuarantineResponder],
})
export class QuarantineModule {}
