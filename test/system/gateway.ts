import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedPostgres } from '#inside/platform/database/embedded-postgres';
import { ProofNode } from './node';
import type { Circumstances } from './program';
import { Rows } from './rows';

/** An installation: a database of its own and the gateway before it. */
export interface ProofGateway {
  readonly node: ProofNode;
  readonly rows: Rows;
  readonly folder: string;
  /** As migrations connect: sees every table. */
  readonly ownerUrl: string;
  /** Further nodes on the same database; `url` leads to it another way. */
  another(name: string, environment?: Readonly<Record<string, string>>): Promise<ProofNode>;
  /** As the service connects. */
  readonly databaseUrl: string;
  /** Ends the service alone, so that all it acknowledged is in the database; what is there stays to be read. */
  stopService(): Promise<void>;
  stop(): Promise<void>;
}

/** The artefact on an empty database of its own, which it migrates, allowed to reach suppliers on loopback. */
export async function startGateway(
  environment: Readonly<Record<string, string>> = {},
  circumstances: Circumstances = {},
): Promise<ProofGateway> {
  const folder = mkdtempSync(join(tmpdir(), 'switchboard-proof-'));
  chmodSync(folder, 0o711);
  const database = await startEmbeddedPostgres({ dataFolder: folder, durable: false });
  const { url: databaseUrl, ownerUrl } = database;
  const nodes: ProofNode[] = [];
  const stopService = async (): Promise<void> => void (await Promise.all(nodes.map((node) => node.stop())));
  const another: ProofGateway['another'] = async (name, more = {}) => {
    const addresses = { DATABASE_URL: databaseUrl, MIGRATION_DATABASE_URL: ownerUrl };
    const node = await ProofNode.start(
      join(folder, name),
      { ...addresses, ...environment, ...more },
      circumstances,
    );
    nodes.push(node);
    return node;
  };
  const clear = async (): Promise<void> => {
    await stopService();
    await database.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const node = await another('service');
    const rows = new Rows(ownerUrl);
    const stop = async (): Promise<void> => {
      await rows.close();
      await clear();
    };
    return { node, rows, folder, ownerUrl, databaseUrl, another, stopService, stop };
  } catch (error) {
    await clear();
    throw error;
  }
}
