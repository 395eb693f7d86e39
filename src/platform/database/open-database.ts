import type { Settings } from '../config';
import type { Migration } from './data-source';
import { runningEmbeddedPostgres, startEmbeddedPostgres } from './embedded-postgres';
import { migrate } from './migrate';

export interface OpenDatabase {
  /** As the service connects. */
  url: string;
  /** Settles when an embedded server ends without having been asked to. */
  exited: Promise<void>;
  close(): Promise<void>;
}

/** The configured database, or the embedded one, brought up to date. */
export async function openDatabase(
  settings: Settings,
  migrations: readonly Migration[],
): Promise<OpenDatabase> {
  const server = settings.databaseUrl
    ? external(settings.databaseUrl, settings.migrationDatabaseUrl)
    : await startEmbeddedPostgres({ dataFolder: settings.dataFolder });
  try {
    await migrate({ url: server.ownerUrl, serviceUrl: server.url, migrations, queue: !settings.redisUrl });
  } catch (error) {
    await server.stop();
    throw error;
  }
  return { url: server.url, exited: server.exited, close: server.stop };
}

/** For a command beside a running service: its database, or the configured one, or one started for the moment. */
export async function attachDatabase(
  settings: Settings,
  migrations: readonly Migration[],
): Promise<OpenDatabase> {
  const running = settings.databaseUrl ? undefined : runningEmbeddedPostgres(settings.dataFolder);
  if (running === undefined) return openDatabase(settings, migrations);
  return { url: running.url, exited: new Promise(() => undefined), close: () => Promise.resolve() };
}

function external(url: string, ownerUrl = url) {
  return {
    url,
    ownerUrl,
    exited: new Promise<void>(() => undefined),
    stop: () => Promise.resolve(),
  };
}
