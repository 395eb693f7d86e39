import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditModule } from '../audit';
import { HooksModule, SecretsModule } from '../platform';
import { accountProviders } from './accounts';
import { AdminViewService } from './admin-view.service';
import { identityEntities } from './entities';
import { OwnProjects } from './own-projects.query';
import { PayerService } from './payer.service';
import { PersonalSettings } from './personal-settings.store';
import { peopleProviders } from './people';
import { ProfileService } from './profile.service';
import { HostProofs, ResellerDomains } from './resellers';
import { SessionsService } from './sessions.service';
import { TelemetryContent } from './telemetry-content.service';

const providers = [
  AdminViewService,
  HostProofs,
  OwnProjects,
  PayerService,
  PersonalSettings,
  ProfileService,
  ResellerDomains,
  SessionsService,
  TelemetryContent,
  ...accountProviders,
  ...peopleProviders,
];

@Module({
  imports: [AuditModule, HooksModule, SecretsModule, TypeOrmModule.forFeature(identityEntities)],
  providers,
  exports: [...providers, TypeOrmModule],
})
export class IdentityModule {}
