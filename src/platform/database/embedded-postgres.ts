import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Client } from 'pg';
import { MINUTE_MS } from '../../kernel';
import { type ServerAccount, serverAccount } from './embedded/account';
import { archiveFolderOf, archiveSettings, createArchiveFolder } from './embedded/archive';
import { installedPostgresVersion, postgresMajorOf, usableBinaries } from './embedded/binaries';
import {
  type ClusterPaths,
  clusterPaths,
  createCluster,
  loadPasswords,
  type ClusterPasswords,
} from './embedded/cluster';
import { DataFolderInUse, EmbeddedPostgresFailure, explainFailure } from './embedded/failure';
import {
  chooseFolder,
  createFolder,
  embeddedFolderOf,
  serverFolder,
  unfinishedRestoreOf,
  DEFAULT_SHARED_FOLDER,
} from './embedded/folders';
import { claimFolder, folderOwner } from './embedded/owner-file';
import { livePostmaster, startOrAdopt, stopServer, withClient } from './embedded/server';
import { Supervisor, type SupervisorEvent, type SupervisorOptions } from './embedded/supervisor';

export {
  archiveFolderOf,
  DataFolderInUse,
  EmbeddedPostgresFailure,
  installedPostgresVersion,
  postgresMajorOf,
  type SupervisorEvent,
};

export interface EmbeddedPostgresOptions {
  /** The server's files are in the folder "postgres" below this one, or that folder states their location. */
  dataFolder: string;
  /**
   * Folder that root uses for files which an unprivileged server cannot reach below the data folder (a closed home).
   */
  sharedFolder?: string;
  /** False only in tests, where nothing has to survive a power cut. */
  durable?: boolean;
  /** Keeps finished segments of the write-ahead log until they are shipped (archiveFolderOf). */
  archives?: boolean;
  supervision?: Partial<SupervisorOptions>;
}

export interface EmbeddedPostgres {
  /** For the service: a login that owns nothing. */
  url: string;
  /** For migrations. */
  ownerUrl: string;
  folder: string;
  /** Settles when the server ended unexpectedly and could not be restarted. */
  exited: Promise<void>;
  stop(): Promise<void>;
}

/** Long enough for an operator to free disk space; after that the process ends with an error. */
const defaultSupervision: SupervisorOptions = { giveUpMs: 5 * MINUTE_MS, report: () => undefined };

export const OWNER = 'switchboard_owner';
const login = 'switchboard';
const database = 'switchboard';

/**
 * Starts PostgreSQL on the data folder, or takes over the server that a killed process left running. Callers install
 * their signal handlers first, and stop the result.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const dataFolder = resolve(options.dataFolder);
  const sharedFolder = options.sharedFolder ?? DEFAULT_SHARED_FOLDER;
  try {
    assertNoUnfinishedRestore(dataFolder);
    const account = serverAccount();
    createFolder(embeddedFolderOf(dataFolder), account);
    const claim = claimFolder(embeddedFolderOf(dataFolder), dataFolder);
    try {
      const paths = clusterPaths(serverFolder(dataFolder) ?? chooseFolder(dataFolder, sharedFolder, account));
      const copiesFolder = account ? sharedFolder : paths.folder;
      const server = await runServer(paths, copiesFolder, account, options);
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
    throw explainFailure(error, dataFolder);
  }
}

/** URLs of the server that a running service has on this data folder; undefined if none is running. */
export function runningEmbeddedPostgres(
  dataFolder: string,
): Pick<EmbeddedPostgres, 'url' | 'ownerUrl' | 'folder'> | undefined {
  const folder = serverFolder(resolve(dataFolder));
  if (folder === undefined || folderOwner(embeddedFolderOf(dataFolder)) === undefined) return undefined;
  const paths = clusterPaths(folder);
  const postmaster = livePostmaster(paths);
  if (postmaster === undefined) return undefined;
  const passwords = loadPasswords(paths);
  return {
    url: urlOf(postmaster.port, login, passwords.login, database),
    ownerUrl: urlOf(postmaster.port, OWNER, passwords.owner, database),
    folder,
  };
}

export const isEmbeddedPostgresRunning = (dataFolder: string): boolean =>
  runningEmbeddedPostgres(dataFolder) !== undefined;

/** Stops the server that a killed process left running in this data folder. */
export async function stopAbandonedPostgres(dataFolder: string): Promise<void> {
  const pid = folderOwner(embeddedFolderOf(dataFolder));
  if (pid !== undefined) throw new DataFolderInUse(dataFolder, pid);
  const paths = clusterPaths(serverFolder(dataFolder) ?? embeddedFolderOf(dataFolder));
  const postmaster = livePostmaster(paths);
  if (postmaster) await stopServer(paths, postmaster.pid);
}

async function runServer(
  paths: ClusterPaths,
  copiesFolder: string,
  account: ServerAccount | undefined,
  { durable = true, archives = false, supervision }: EmbeddedPostgresOptions,
): Promise<EmbeddedPostgres> {
  assertSameMajor(paths);
  const binaries = usableBinaries(copiesFolder, account);
  const passwords = loadPasswords(paths);
  if (!existsSync(paths.data)) {
    await createCluster(binaries, paths, account, { name: OWNER, password: passwords.owner });
  }
  const urlAt = (port: number) => urlOf(port, OWNER, passwords.owner, 'postgres');
  const settings = archiveSettings(archives ? createArchiveFolder(paths.folder, account) : null);
  const launch = { binaries, paths, account, durable, settings, urlAt };
  const server = await startOrAdopt(launch);
  const { port } = server;
  try {
    await withClient(urlAt(port), (client) => prepareRoles(client, passwords));
  } catch (error) {
    await stopServer(paths, server.pid);
    throw error;
  }
  const supervisor = new Supervisor(launch, server, { ...defaultSupervision, ...supervision });
  return {
    url: urlOf(port, login, passwords.login, database),
    ownerUrl: urlOf(port, OWNER, passwords.owner, database),
    folder: paths.folder,
    exited: supervisor.exited,
    stop: () => supervisor.stop(),
  };
}

/** Without this check the server would end with a FATAL in its log. */
function assertSameMajor({ data }: ClusterPaths): void {
  const file = join(data, 'PG_VERSION');
  if (!existsSync(file)) return;
  const stored = readFileSync(file, 'utf8').trim();
  const installed = installedPostgresVersion();
  if (postgresMajorOf(stored) === postgresMajorOf(installed)) return;
  throw new EmbeddedPostgresFailure(
    `The database in ${data} is of PostgreSQL ${stored}, and this build has PostgreSQL ${installed}, which cannot read ` +
      'its files. Start the build before this one again, and move the database with "database:move": docs/upgrade.md.',
  );
}

/** A start would create an empty database next to a partial restore. */
function assertNoUnfinishedRestore(dataFolder: string): void {
  if (!existsSync(unfinishedRestoreOf(dataFolder))) return;
  throw new EmbeddedPostgresFailure(
    `A restore into ${dataFolder} was broken off, and what it left is not whole. Run the restore again.`,
  );
}

/** Roles and database belong to the cluster, not to a migration; every start ensures that they exist. */
async function prepareRoles(client: Client, passwords: ClusterPasswords): Promise<void> {
  const exists = async (table: string, column: string, name: string) =>
    (await client.query(`SELECT FROM ${table} WHERE ${column} = $1`, [name])).rowCount === 1;
  if (!(await exists('pg_roles', 'rolname', login))) {
    await client.query(`CREATE ROLE ${login} LOGIN PASSWORD '${passwords.login}'`);
  }
  if (!(await exists('pg_database', 'datname', database))) {
    await client.query(`CREATE DATABASE ${database}`);
  }
}

export function urlOf(port: number, user: string, password: string, name: string): string {
  return `postgres://${user}:${password}@127.0.0.1:${port}/${name}`;
}
