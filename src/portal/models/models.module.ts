import { Module } from '@nestjs/common';
import { CatalogueModule } from '../../catalogue';
import { WebModule } from '../../web';
import { ModelHealths } from './model-health';
import { ModelsController } from './models.controller';

@Module({
  imports: [WebModule, CatalogueModule],
  controllers: [ModelsController],
  providers: [ModelHealths],
})
export class ModelPagesModule {}
