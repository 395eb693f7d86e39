import { join } from 'node:path';
import { Module } from '@nestjs/common';
import { Settings } from '../platform';
import { projectFolder } from './project-folder';
import { createViewEngine, ViewEngine } from './view-engine';

/** Provides one engine for pages and mails. */
@Module({
  providers: [
    {
      provide: ViewEngine,
      inject: [Settings],
      useFactory: (settings: Settings) =>
        createViewEngine({
          viewsFolder: join(projectFolder, 'views'),
          publicFolder: join(projectFolder, 'public'),
          localesFolder: join(projectFolder, 'locales'),
          cache: settings.environment !== 'development',
          brandName: settings.brandName,
        }),
    },
  ],
  exports: [ViewEngine],
})
export class ViewsModule {}
