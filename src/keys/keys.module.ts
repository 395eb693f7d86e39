import { Module } from '@nestjs/common';
import { BillingModule } from '../billing';
import { IdentityModule } from '../identity';
import { KeyDirectory } from './key-directory';
import { KeyGate } from './key-gate';
import { KeyManagement } from './key-management';
import { KeyRegister } from './key-register';
import { KeyTransfers } from './key-transfers';
import { KeysService } from './keys.service';
import { OpenCalls } from './open-calls';
import { RateModule } from './rate/rate.module';

@Module({
  imports: [IdentityModule, BillingModule, RateModule],
  providers: [KeyDirectory, KeyGate, KeyManagement, KeyRegister, KeysService, KeyTransfers, OpenCalls],
  exports: [
    KeyDirectory,
    KeyGate,
    KeyManagement,
    KeyRegister,
    KeysService,
    KeyTransfers,
    OpenCalls,
    RateModule,
  ],
})
export class KeysModule {}
