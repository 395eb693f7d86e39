import { join } from 'node:path';
import { Module } from '@nestjs/common';
import { Extensions } from '../extensions';
import { Settings } from '../platform';
import { viewsOf } from './extension-views';
import { projectFolder } from './project-folder';
import { createViewEngine, ViewEngine } from './view-engine';

/** Provides one engine for pages and mails. */
@Module({
  providers: [
    {
      provide: ViewEngine,
      inject: [Settings, Extensions],
      useFactory: (settings: Settings, { all }: Extensions) =>
        createViewEngine({
          viewsFolder: join(projectFolder, 'views'),
          publicFolder: join(projectFolder, 'public'),
          localesFolder: join(projectFolder, 'locales'),
          cache: settings.environment !== 'development',
          brandName: settings.brandName,
          extensions: all.map((extension) => viewsOf(extension)),
        }),
    },
  ],
  exports: [ViewEngine],
})
export class ViewsModule {}
