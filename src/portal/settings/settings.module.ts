import { Module } from '@nestjs/common';
import { WebModule } from '../../web';
import { HelpController } from './help.controller';
import { NoticesController } from './notices.controller';

@Module({ imports: [WebModule], controllers: [NoticesController, HelpController] })
export class SettingsModule {}
