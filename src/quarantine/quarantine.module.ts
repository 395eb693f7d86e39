import { Module } from '@nestjs/common';
import { AuditModule } from '../audit';
import { BillingModule } from '../billing';
import { KeysModule } from '../keys';
import { WebModule } from '../web';
import { Quarantine } from './quarantine';
import { QuarantineResponder } from './quarantine-responder';
import { QuarantineStore } from './quarantine.store';

@Module({
  imports: [AuditModule, BillingModule, KeysModule, WebModule],
  providers: [Quarantine, QuarantineResponder, QuarantineStore],
  exports: [Quarantine, QuarantineResponder],
})
export class QuarantineModule {}
