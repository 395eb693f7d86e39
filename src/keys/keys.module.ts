import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditModule } from '../audit';
import { BillingModule } from '../billing';
import { Extensions } from '../extensions';
import { IdentityModule } from '../identity';
import { Database } from '../platform';
import { ApiKey } from './api-key.entity';
import { EffectiveLimits } from './effective-limits';
import { KeyDirectory } from './key-directory';
import { KeyActivity } from './key-activity';
import { KeyAuthenticator } from './key-authenticator';
import { KeyManagement } from './key-management';
import { DatabaseKeys } from './keys-port';
import { KeyRegister } from './key-register';
import { KeyTransfers } from './key-transfers';
import { KeysService } from './keys.service';
import { OpenCalls } from './open-calls';
import { RateModule } from './rate/rate.module';

@Module({
  imports: [AuditModule, IdentityModule, BillingModule, RateModule, TypeOrmModule.forFeature([ApiKey])],
  providers: [
    EffectiveLimits,
    KeyDirectory,
    KeyActivity,
    KeyAuthenticator,
    KeyManagement,
    KeyRegister,
    KeysService,
    KeyTransfers,
    OpenCalls,
  ],
  exports: [
    EffectiveLimits,
    KeyDirectory,
    KeyActivity,
    KeyAuthenticator,
    KeyManagement,
    KeyRegister,
    KeysService,
    KeyTransfers,
    OpenCalls,
    RateModule,
  ],
})
export class KeysModule {
  constructor(extensions: Extensions, database: Database) {
    const keys = new DatabaseKeys(database);
    extensions.providePort('keys.read', () => keys);
  }
}
