import { DataSource } from 'typeorm';
import { migrations } from '../../migrations';
import { entities } from '../app.module';
import {
  applicationUrl,
  attachDatabase,
  Database,
  loadSettings,
  processEnvironment,
  type Settings,
} from '../platform';

/** Runs a command on the database of the service, whether that is running or not. */
export async function withDatabase<T>(
  work: (database: Database, settings: Settings) => Promise<T>,
  environment: NodeJS.ProcessEnv = processEnvironment,
): Promise<T> {
  const settings = loadSettings(environment);
  const open = await attachDatabase(settings, migrations);
  try {
    const source = new DataSource({ type: 'postgres', url: applicationUrl(open.url), poolSize: 3, entities });
    await source.initialize();
    try {
      return await work(new Database(source), settings);
    } finally {
      await source.destroy();
    }
  } finally {
    await open.close();
  }
}
