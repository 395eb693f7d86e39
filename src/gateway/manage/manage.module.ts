import { Module } from '@nestjs/common';
import { AuditModule } from '../../audit';
import { CatalogueModule } from '../../catalogue';
import { IdempotencyModule, WebModule } from '../../web';
import { KeyAuditController } from './key-audit.controller';
import { ManageKeysController } from './manage-keys.controller';
import { OwnKeyController } from './own-key.controller';

@Module({
  imports: [AuditModule, CatalogueModule, IdempotencyModule, WebModule],
  controllers: [ManageKeysController, KeyAuditController, OwnKeyController],
})
export class ManageModule {}
