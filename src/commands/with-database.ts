import { DataSource } from 'typeorm';
import { migrations } from '../../migrations';
import { entities } from '../app.module';
import { applicationUrl, attachDatabase, Database, loadSettings, processEnvironment } from '../platform';

/** Runs a command on the database of the service, whether that is running or not. */
export async function withDatabase<T>(work: (database: Database) => Promise<T>): Promise<T> {
  const open = await attachDatabase(loadSettings(processEnvironment), migrations);
  try {
    const source = new DataSource({ type: 'postgres', url: applicationUrl(open.url), poolSize: 3, entities });
    await source.initialize();
    try {
      return await work(new Database(source));
    } finally {
      await source.destroy();
    }
  } finally {
    await open.close();
  }
}
