import { join } from 'node:path';
import type { FactoryProvider } from '@nestjs/common';
import { createViewEngine, Settings, type ViewEngine } from '../../platform';
import { projectFolder } from './project-folder';

export const viewEngineToken = Symbol('view engine');

export const viewEngineProvider: FactoryProvider<Promise<ViewEngine>> = {
  provide: viewEngineToken,
  inject: [Settings],
  useFactory: (settings: Settings) =>
    createViewEngine({
      viewsFolder: join(projectFolder, 'views'),
      publicFolder: join(projectFolder, 'public'),
      localesFolder: join(projectFolder, 'locales'),
      cache: settings.environment !== 'development',
      brandName: settings.brandName,
    }),
};
