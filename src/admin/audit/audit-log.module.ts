import { Module } from '@nestjs/common';
import { WebModule } from '../../web';
import { AuditLogController } from './audit-log.controller';

@Module({ imports: [WebModule], controllers: [AuditLogController] })
export class AuditLogModule {}
