import { Module } from '@nestjs/common';
import { ViewsModule } from '../../views';
import { WebModule } from '../../web';
import { AuditLogController } from './audit-log.controller';
import { ChainWatch } from './chain-watch';

@Module({ imports: [WebModule, ViewsModule], controllers: [AuditLogController], providers: [ChainWatch] })
export class AuditLogModule {}
