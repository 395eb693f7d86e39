import { Module } from '@nestjs/common';
import { WebModule } from '../../web';
import { OrganisationsModule } from '../organisations/organisations.module';
import { ProjectsController } from './projects.controller';

@Module({ imports: [WebModule, OrganisationsModule], controllers: [ProjectsController] })
export class ProjectsModule {}
