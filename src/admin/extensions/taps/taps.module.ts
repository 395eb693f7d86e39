import { Module } from '@nestjs/common';
import { AuditModule } from '../../../audit';
import { WebModule } from '../../../web';
import { TestMessageRate } from '../../test-message-rate';
import { TapsController } from './taps.controller';

@Module({ imports: [AuditModule, WebModule], controllers: [TapsController], providers: [TestMessageRate] })
export class TapPagesModule {}
