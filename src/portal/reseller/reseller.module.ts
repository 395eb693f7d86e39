import { Module } from '@nestjs/common';
import { WebModule } from '../../web';
import { LookController } from './look.controller';

@Module({ imports: [WebModule], controllers: [LookController] })
export class ResellerModule {}
