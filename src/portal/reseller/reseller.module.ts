import { Module } from '@nestjs/common';
import { WebModule } from '../../web';
import { BrandingController } from './branding.controller';

@Module({ imports: [WebModule], controllers: [BrandingController] })
export class ResellerModule {}
