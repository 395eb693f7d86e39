import { Module } from '@nestjs/common';
import { AuditModule } from '../audit';
import { BillingModule } from '../billing';
import { KeysModule } from '../keys';
import { WebModule } from '../web';
import { Quarantine } from './quarantine';
import { QuarantineDoor } from './quarantine-door';

@Module({
  imports: [AuditModule, BillingModule, KeysModule, WebModule],
  providers: [Quarantine, QuarantineDoor],
  exports: [Quarantine, QuarantineDoor],
})
export class QuarantineModule {}
