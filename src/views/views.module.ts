import { join } from 'node:path';
import { Module } from '@nestjs/common';
import { Extensions } from '../extensions';
import { servesPortal, Settings } from '../platform';
import { createViewEngine, noViewEngine } from './create-view-engine';
import { projectFolder } from './project-folder';
import { ViewEngine } from './view-engine';
import { loadExtensionViews } from './load-extension-views';

@Module({
  providers: [
    {
      provide: ViewEngine,
      inject: [Settings, Extensions],
      useFactory: async (settings: Settings, { all }: Extensions) => {
        if (!servesPortal(settings)) return noViewEngine();
        return createViewEngine({
          viewsFolder: join(projectFolder, 'views'),
          publicFolder: join(projectFolder, 'public'),
          localesFolder: join(projectFolder, 'locales'),
          cache: settings.environment !== 'development',
          brandName: settings.brandName,
          extensions: await Promise.all(all.map((extension) => loadExtensionViews(extension))),
        });
      },
    },
  ],
  exports: [ViewEngine],
})
export class ViewsModule {}
