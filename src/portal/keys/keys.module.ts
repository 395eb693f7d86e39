import { Module } from '@nestjs/common';
import { BillingModule } from '../../billing';
import { CatalogueModule } from '../../catalogue';
import { QualityModule } from '../../quality';
import { WebModule } from '../../web';
import { KeyController } from './key.controller';
import { KeySecretPage } from './key-secret-page';
import { KeysController } from './keys.controller';
import { EffectiveLimitsService } from './effective-limits.service';
import { NewKeyController } from './new-key.controller';
import { AuditedKeys } from './audited-keys';

/** NewKeyController comes first, because `new` must not be parsed as a key id. */
@Module({
  imports: [WebModule, CatalogueModule, BillingModule, QualityModule],
  controllers: [KeysController, NewKeyController, KeyController],
  providers: [AuditedKeys, KeySecretPage, EffectiveLimitsService],
})
export class KeyPagesModule {}
