import { Module } from '@nestjs/common';
import { InvitesModule } from './invites/invites.module';
import { OrganisationsModule } from './organisations/organisations.module';
import { ProjectsModule } from './projects/projects.module';
import { PromotionsModule } from './promotions/promotions.module';
import { UsersModule } from './users/users.module';

@Module({ imports: [InvitesModule, UsersModule, OrganisationsModule, ProjectsModule, PromotionsModule] })
export class AccountAdminModule {}
