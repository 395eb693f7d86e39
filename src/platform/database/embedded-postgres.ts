import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { Client } from 'pg';
import { MINUTE_MS } from '../../kernel';
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
import { Supervisor, type SupervisorEvent, type SupervisorOptions } from './embedded/supervisor';

export { DataFolderInUse, EmbeddedPostgresFailure, type SupervisorEvent };

export interface EmbeddedPostgresOptions {
  /** The server keeps everything in the folder "postgres" below this one, or says there where it does. */
  dataFolder: string;
  /** Root puts here what an unprivileged server cannot reach below the data folder (a closed home). */
  sharedFolder?: string;
  /** It is false only for tests: nothing has to survive a power cut there. */
  durable?: boolean;
  /** Handles a server that ends unasked. */
  supervision?: Partial<SupervisorOptions>;
}

export interface EmbeddedPostgres {
  /** The service uses it: a login that owns nothing. */
  url: string;
  /** Migrations use it. */
  ownerUrl: string;
  /** The server keeps its files here. */
  folder: string;
  /** Settles when the server has ended unasked and could not be started again. */
  exited: Promise<void>;
  stop(): Promise<void>;
}

/** It is long enough for an operator to free disk space; after it the process ends with an error. */
const usualSupervision: SupervisorOptions = { giveUpMs: 5 * MINUTE_MS, report: () => undefined };

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
    createFolder(insideOf(dataFolder), account);
    const claim = claimFolder(insideOf(dataFolder), dataFolder);
    try {
      const paths = clusterPaths(serverFolder(dataFolder) ?? chooseFolder(dataFolder, sharedFolder, account));
      const copies = account ? sharedFolder : paths.folder;
      const server = await runServer(paths, copies, account, options);
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

/** The addresses of the server a running service has on this data folder; undefined when none runs. */
export function runningEmbeddedPostgres(
  dataFolder: string,
): Pick<EmbeddedPostgres, 'url' | 'ownerUrl'> | undefined {
  const folder = serverFolder(resolve(dataFolder));
  if (folder === undefined || folderOwner(insideOf(dataFolder)) === undefined) return undefined;
  const paths = clusterPaths(folder);
  const postmaster = livePostmaster(paths);
  if (postmaster === undefined) return undefined;
  const passwords = loadPasswords(paths);
  return {
    url: urlOf(postmaster.port, login, passwords.login, database),
    ownerUrl: urlOf(postmaster.port, owner, passwords.owner, database),
  };
}

/** Ends the server that a killed process left behind in this data folder. */
export async function stopAbandonedPostgres(dataFolder: string): Promise<void> {
  const pid = folderOwner(insideOf(dataFolder));
  if (pid !== undefined) throw new DataFolderInUse(dataFolder, pid);
  const paths = clusterPaths(serverFolder(dataFolder) ?? insideOf(dataFolder));
  const postmaster = livePostmaster(paths);
  if (postmaster) await stopServer(paths, postmaster.pid);
}

const insideOf = (dataFolder: string) => join(resolve(dataFolder), 'postgres');
/** Says where the server is when it could not be put below the data folder itself. */
const locationFileOf = (dataFolder: string) => join(insideOf(dataFolder), 'location');

/** An earlier start put the server here; undefined before the first. */
function serverFolder(dataFolder: string): string | undefined {
  const signpost = locationFileOf(dataFolder);
  if (!existsSync(signpost)) {
    return existsSync(clusterPaths(insideOf(dataFolder)).data) ? insideOf(dataFolder) : undefined;
  }
  const folder = readFileSync(signpost, 'utf8');
  if (existsSync(folder)) return folder;
  throw new EmbeddedPostgresFailure(
    `The database of ${dataFolder} was in ${folder}, which is gone. ` +
      `Restore that folder, or remove ${signpost} to begin with an empty database.`,
  );
}

/** Below the data folder where the server's account can get there; root's home, for one, is closed to it. */
function chooseFolder(dataFolder: string, sharedFolder: string, account: ServerAccount | undefined): string {
  const inside = insideOf(dataFolder);
  if (!account || canEnter(inside, account)) return inside;
  createFolder(sharedFolder, account);
  const outside = mkdtempSync(join(sharedFolder, 'data-'));
  chmodSync(outside, 0o711);
  writeFileSync(locationFileOf(dataFolder), outside, { mode: 0o600, flush: true });
  return outside;
}

/** Folders made by root stay accessible to the server's account under any umask; other accounts may not list them. */
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
  { durable = true, supervision }: EmbeddedPostgresOptions,
): Promise<EmbeddedPostgres> {
  const binaries = usableBinaries(copiesFolder, account);
  const passwords = loadPasswords(paths);
  if (!existsSync(paths.data)) {
    await createCluster(binaries, paths, account, { name: owner, password: passwords.owner });
  }
  const urlAt = (port: number) => urlOf(port, owner, passwords.owner, 'postgres');
  const launch = { binaries, paths, account, durable, urlAt };
  const server = await startOrAdopt(launch);
  const { port } = server;
  try {
    await withClient(urlAt(port), (client) => prepareRoles(client, passwords));
  } catch (error) {
    await stopServer(paths, server.pid);
    throw error;
  }
  const supervisor = new Supervisor(launch, server, { ...usualSupervision, ...supervision });
  return {
    url: urlOf(port, login, passwords.login, database),
    ownerUrl: urlOf(port, owner, passwords.owner, database),
    folder: paths.folder,
    exited: supervisor.exited,
    stop: () => supervisor.stop(),
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
