import { Module } from '@nestjs/common';
import { AuditModule } from '../../../audit';
import { WebModule } from '../../../web';
import { TapsController } from './taps.controller';

@Module({ imports: [AuditModule, WebModule], controllers: [TapsController] })
export class TapPagesModule {}
