import { Module } from '@nestjs/common';
import { WebModule } from '../web';

/** The pages and operations below /dashboard/admin and /api/admin; each area is a folder with a module of its own. */
@Module({ imports: [WebModule] })
export class AdminModule {}
