import { Module } from '@nestjs/common';
import { CatalogueModule } from '../catalogue';
import { KeysModule } from '../keys';
import { FirstBoot } from './first-boot';

/** What a start needs and the running application does not. */
@Module({ imports: [CatalogueModule, KeysModule], providers: [FirstBoot] })
export class BootModule {}
