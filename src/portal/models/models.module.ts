import { Module } from '@nestjs/common';
import { CatalogueModule } from '../../catalogue';
import { WebModule } from '../../web';
import { ModelHealthService } from './model-health.service';
import { DashboardModelsController } from './dashboard-models.controller';

@Module({
  imports: [WebModule, CatalogueModule],
  controllers: [DashboardModelsController],
  providers: [ModelHealthService],
})
export class ModelPagesModule {}
