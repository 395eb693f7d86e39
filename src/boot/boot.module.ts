import { Module } from '@nestjs/common';
import { CatalogueModule } from '../catalogue';
import { IdentityModule } from '../identity';
import { KeysModule } from '../keys';
import { FirstBoot } from './first-boot';

/** What a start needs and the running application does not. */
@Module({ imports: [CatalogueModule, IdentityModule, KeysModule], providers: [FirstBoot] })
export class BootModule {}
