import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedPostgres } from '#inside/platform/database/embedded-postgres';
import { ProofNode } from './node';
import type { ProgramOptions } from './program';
import { InstallationDatabase } from './installation-database';

/** An installation: a database and a gateway that uses it. */
export interface ProofGateway {
  readonly node: ProofNode;
  readonly rows: InstallationDatabase;
  readonly folder: string;
  /** Connection as used by migrations, which sees every table. */
  readonly ownerUrl: string;
  /** Starts further nodes on the same database; `url` gives an alternative connection to it. */
  another(name: string, environment?: Readonly<Record<string, string>>): Promise<ProofNode>;
  /** Connection as used by the service. */
  readonly databaseUrl: string;
  /** Stops the service only, after everything it acknowledged has been stored; the database stays readable. */
  stopService(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts the artefact on an empty database, which it migrates; suppliers on loopback are allowed. */
export async function startGateway(
  environment: Readonly<Record<string, string>> = {},
  circumstances: ProgramOptions = {},
): Promise<ProofGateway> {
  const folder = mkdtempSync(join(tmpdir(), 'switchboard-proof-'));
  chmodSync(folder, 0o711);
  const database = await startEmbeddedPostgres({ dataFolder: folder, durable: false });
  const { url: databaseUrl, ownerUrl } = database;
  const nodes: ProofNode[] = [];
  const stopService = async (): Promise<void> => void (await Promise.all(nodes.map((node) => node.stop())));
  const startAnother: ProofGateway['another'] = async (name, more = {}) => {
    const addresses = { DATABASE_URL: databaseUrl, MIGRATION_DATABASE_URL: ownerUrl };
    const node = await ProofNode.start(
      join(folder, name),
      { ...addresses, ...environment, ...more },
      circumstances,
    );
    nodes.push(node);
    return node;
  };
  const cleanUp = async (): Promise<void> => {
    await stopService();
    await database.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const node = await startAnother('service');
    const rows = new InstallationDatabase(ownerUrl);
    const stop = async (): Promise<void> => {
      await rows.close();
      await cleanUp();
    };
    return { node, rows, folder, ownerUrl, databaseUrl, another: startAnother, stopService, stop };
  } catch (error) {
    await cleanUp();
    throw error;
  }
}
