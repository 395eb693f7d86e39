import { createHash } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { Client } from 'pg';
import { canEnter, type ServerAccount, serverAccount } from './embedded/account';
import { usableBinaries } from './embedded/binaries';
import {
  type ClusterPaths,
  clusterPaths,
  createCluster,
  loadPasswords,
  type Passwords,
} from './embedded/cluster';
import { DataFolderInUse, EmbeddedPostgresFailure, explain } from './embedded/failure';
import { claimFolder, folderOwner } from './embedded/owner-file';
import { livePostmaster, startOrAdopt, stopServer, withClient } from './embedded/server';

export { DataFolderInUse, EmbeddedPostgresFailure };

export interface EmbeddedPostgresOptions {
  /** The server keeps everything in the folder "postgres" below this one. */
  dataFolder: string;
  /** Where root puts what an unprivileged server cannot reach below the data folder (a closed home). */
  sharedFolder?: string;
  /** False only for tests: nothing has to survive a power cut there. */
  durable?: boolean;
}

export interface EmbeddedPostgres {
  /** For the service: a login that owns nothing. */
  url: string;
  /** For migrations. */
  ownerUrl: string;
  /** Settles when the server ends without having been asked to. */
  exited: Promise<void>;
  stop(): Promise<void>;
}

const owner = 'switchboard_owner';
const login = 'switchboard';
const database = 'switchboard';

/**
 * Starts PostgreSQL on the data folder, or takes over the server that a killed process left running there.
 * The caller installs its signal handlers before calling and stops what it got.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const dataFolder = resolve(options.dataFolder);
  const sharedFolder = options.sharedFolder ?? '/var/lib/switchboard';
  try {
    const account = serverAccount();
    const paths = clusterPaths(serverFolder(dataFolder, sharedFolder, account));
    const claim = claimFolder(paths.folder, dataFolder);
    try {
      const copies = account ? sharedFolder : paths.folder;
      const server = await runServer(paths, copies, account, options.durable ?? true);
      return {
        ...server,
        stop: async () => {
          await server.stop();
          claim.release();
        },
      };
    } catch (error) {
      claim.release();
      throw error;
    }
  } catch (error) {
    throw explain(error, dataFolder);
  }
}

/** Ends the server that a killed process left behind in this data folder. */
export async function stopAbandonedPostgres(dataFolder: string): Promise<void> {
  const paths = clusterPaths(join(resolve(dataFolder), 'postgres'));
  const pid = folderOwner(paths.folder);
  if (pid !== undefined) throw new DataFolderInUse(dataFolder, pid);
  const postmaster = livePostmaster(paths);
  if (postmaster) await stopServer(paths, postmaster.pid);
}

/**
 * Below the data folder where the server's account can get there, else below the shared folder under a name
 * derived from the data folder. Data that already lies in one of the two decides: changing the rights of a
 * home folder later must not look like an empty database.
 */
function serverFolder(dataFolder: string, sharedFolder: string, account: ServerAccount | undefined): string {
  const inside = join(dataFolder, 'postgres');
  const named = createHash('sha256').update(dataFolder).digest('hex').slice(0, 12);
  const outside = join(sharedFolder, named);
  const holdsData = [inside, outside].find((folder) => existsSync(join(folder, 'cluster', 'PG_VERSION')));
  if (holdsData) return holdsData;
  createFolder(inside, account);
  if (!account || canEnter(inside, account)) return inside;
  createFolder(outside, account);
  return outside;
}

/** What root creates stays passable for the server's account, whatever the umask; nobody else may list it. */
function createFolder(folder: string, account: ServerAccount | undefined): void {
  const first = mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (!first || !account) return;
  for (let created = folder; created.length >= first.length; created = dirname(created)) {
    chmodSync(created, 0o711);
  }
}

async function runServer(
  paths: ClusterPaths,
  copiesFolder: string,
  account: ServerAccount | undefined,
  durable: boolean,
): Promise<EmbeddedPostgres> {
  const binaries = usableBinaries(copiesFolder, account);
  const passwords = loadPasswords(paths);
  if (!existsSync(paths.data)) {
    await createCluster(binaries, paths, account, { name: owner, password: passwords.owner });
  }
  const urlAt = (port: number) => urlOf(port, owner, passwords.owner, 'postgres');
  const { pid, port, exited } = await startOrAdopt({ binaries, paths, account, durable, urlAt });
  let stopping = false;
  const stop = () => {
    stopping = true;
    return stopServer(paths, pid);
  };
  try {
    await withClient(urlAt(port), (client) => prepareRoles(client, passwords));
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    url: urlOf(port, login, passwords.login, database),
    ownerUrl: urlOf(port, owner, passwords.owner, database),
    exited: new Promise((settle) => {
      void exited.then(() => {
        if (!stopping) settle();
      });
    }),
    stop,
  };
}

/** Roles and database belong to the cluster, not to a migration; every start makes sure of them. */
async function prepareRoles(client: Client, passwords: Passwords): Promise<void> {
  const exists = async (table: string, column: string, name: string) =>
    (await client.query(`SELECT FROM ${table} WHERE ${column} = $1`, [name])).rowCount === 1;
  if (!(await exists('pg_roles', 'rolname', login))) {
    await client.query(`CREATE ROLE ${login} LOGIN PASSWORD '${passwords.login}'`);
  }
  if (!(await exists('pg_database', 'datname', database))) {
    await client.query(`CREATE DATABASE ${database}`);
  }
}

function urlOf(port: number, user: string, password: string, name: string): string {
  return `postgres://${user}:${password}@127.0.0.1:${port}/${name}`;
}
