import { Module } from '@nestjs/common';
import { WebModule } from '../../web';
import { ExtensionsController } from './extensions.controller';

@Module({ imports: [WebModule], controllers: [ExtensionsController] })
export class ExtensionPagesModule {}
