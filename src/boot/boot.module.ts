import { Module } from '@nestjs/common';
import { AuditModule } from '../audit';
import { CatalogueModule } from '../catalogue';
import { IdentityModule } from '../identity';
import { KeysModule } from '../keys';
import { FirstBoot } from './first-boot';

@Module({ imports: [AuditModule, CatalogueModule, IdentityModule, KeysModule], providers: [FirstBoot] })
export class BootModule {}
