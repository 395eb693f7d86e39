import { Module } from '@nestjs/common';
import { QuarantineModule } from '../../quarantine';
import { WebModule } from '../../web';
import { QuarantineController } from './quarantine.controller';

@Module({ imports: [QuarantineModule, WebModule], controllers: [QuarantineController] })
export class QuarantinePagesModule {}
