import { Module } from '@nestjs/common';
import { AlertsModule } from '../../alerts';
import { BackupModule } from '../../backup';
import { QuarantineModule } from '../../quarantine';
import { RoutingModule } from '../../routing';
import { WebModule } from '../../web';
import { AdminHomeController } from './home.controller';
import { IncidentLog } from './incidents/incident-log';
import { IncidentWatch } from './incidents/incident-watch';
import { ObservabilityController } from './observability.controller';
import { PoolHealthQuery } from './pool-health';
import { Traffic } from './traffic';

@Module({
  imports: [WebModule, RoutingModule, BackupModule, AlertsModule, QuarantineModule],
  controllers: [AdminHomeController, ObservabilityController],
  providers: [IncidentLog, IncidentWatch, PoolHealthQuery, Traffic],
})
export class ObservabilityModule {}
