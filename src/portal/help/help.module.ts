import { Module } from '@nestjs/common';
import { WebModule } from '../../web';
import { HelpController } from './help.controller';

@Module({ imports: [WebModule], controllers: [HelpController] })
export class HelpModule {}
