import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrations } from '../../migrations';
import { type RunningService, startService } from '../../src/boot/start-service';
import { loadSettings, Logger } from '../../src/platform';
import { startEmbeddedPostgres } from '../../src/platform/database/embedded-postgres';
import { migrate } from '../../src/platform/database/migrate';

export interface ProofGateway {
  readonly service: RunningService;
  readonly folder: string;
  /** As migrations connect: sees every table. */
  readonly ownerUrl: string;
  /** Ends the service alone, so that all it acknowledged is in the database; what is there stays to be read. */
  stopService(): Promise<void>;
  stop(): Promise<void>;
}

/** The whole service on an empty database of its own, allowed to reach suppliers on loopback. */
export async function startGateway(
  environment: Readonly<Record<string, string>> = {},
): Promise<ProofGateway> {
  const folder = mkdtempSync(join(tmpdir(), 'switchboard-proof-'));
  chmodSync(folder, 0o711);
  const database = await startEmbeddedPostgres({ dataFolder: folder, durable: false });
  const clear = async (): Promise<void> => {
    await database.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const { url, ownerUrl } = database;
    await migrate({ url: ownerUrl, serviceUrl: url, migrations, queue: true });
    const dataFolder = join(folder, 'service');
    mkdirSync(dataFolder);
    const settings = loadSettings({
      NODE_ENV: 'test',
      PORT: '0',
      METRICS_PORT: '0',
      DATA_FOLDER: dataFolder,
      DATABASE_URL: url,
      MIGRATION_DATABASE_URL: ownerUrl,
      DRAIN_TIMEOUT: '5s',
      SANDBOX: 'off',
      SUPPLIER_ALLOW: '127.0.0.0/8',
      KEY_RATE_LIMIT_RPM: '1000000',
      ...environment,
    });
    const service = await startService(settings, Logger.create(settings, { write: () => undefined }));
    let stopped: Promise<void> | undefined;
    const stopService = (): Promise<void> => (stopped ??= service.close());
    return {
      service,
      folder,
      ownerUrl,
      stopService,
      stop: async () => {
        await stopService();
        await clear();
      },
    };
  } catch (error) {
    await clear();
    throw error;
  }
}
