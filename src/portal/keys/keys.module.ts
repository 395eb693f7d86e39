import { Module } from '@nestjs/common';
import { BillingModule } from '../../billing';
import { CatalogueModule } from '../../catalogue';
import { QualityModule } from '../../quality';
import { WebModule } from '../../web';
import { KeyController } from './key.controller';
import { KeySecrets } from './key-secrets';
import { KeysController } from './keys.controller';
import { LimitsOfKey } from './limits-in-force';
import { NewKeyController } from './new-key.controller';
import { RecordedKeys } from './recorded-keys';

/** The pages of keys. The controller of new ones stands first: `new` is no id. */
@Module({
  imports: [WebModule, CatalogueModule, BillingModule, QualityModule],
  controllers: [KeysController, NewKeyController, KeyController],
  providers: [RecordedKeys, KeySecrets, LimitsOfKey],
})
export class KeyPagesModule {}
