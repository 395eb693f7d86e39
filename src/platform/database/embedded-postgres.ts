import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Client } from 'pg';
import { MINUTE_MS } from '../../kernel';
import { type ServerAccount, serverAccount } from './embedded/account';
import { archiveFolderOf, archiveSettings, makeArchiveFolder } from './embedded/archive';
import { installedPostgresVersion, postgresMajorOf, usableBinaries } from './embedded/binaries';
import {
  type ClusterPaths,
  clusterPaths,
  createCluster,
  loadPasswords,
  type Passwords,
} from './embedded/cluster';
import { DataFolderInUse, EmbeddedPostgresFailure, explain } from './embedded/failure';
import {
  chooseFolder,
  createFolder,
  insideOf,
  serverFolder,
  unfinishedRestoreOf,
  USUAL_SHARED_FOLDER,
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
  /** The server keeps everything in the folder "postgres" below this one, or says there where it does. */
  dataFolder: string;
  /** Root puts here what an unprivileged server cannot reach below the data folder (a closed home). */
  sharedFolder?: string;
  /** It is false only for tests: nothing has to survive a power cut there. */
  durable?: boolean;
  /** Finished segments of the write-ahead log are kept until they are shipped (archiveFolderOf). */
  archives?: boolean;
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

export const OWNER = 'switchboard_owner';
const login = 'switchboard';
const database = 'switchboard';

/**
 * Starts PostgreSQL on the data folder, or takes over the server that a killed process left running there.
 * The caller installs its signal handlers before calling and stops what it got.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const dataFolder = resolve(options.dataFolder);
  const sharedFolder = options.sharedFolder ?? USUAL_SHARED_FOLDER;
  try {
    refuseUnfinishedRestore(dataFolder);
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
): Pick<EmbeddedPostgres, 'url' | 'ownerUrl' | 'folder'> | undefined {
  const folder = serverFolder(resolve(dataFolder));
  if (folder === undefined || folderOwner(insideOf(dataFolder)) === undefined) return undefined;
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

/** Ends the server that a killed process left behind in this data folder. */
export async function stopAbandonedPostgres(dataFolder: string): Promise<void> {
  const pid = folderOwner(insideOf(dataFolder));
  if (pid !== undefined) throw new DataFolderInUse(dataFolder, pid);
  const paths = clusterPaths(serverFolder(dataFolder) ?? insideOf(dataFolder));
  const postmaster = livePostmaster(paths);
  if (postmaster) await stopServer(paths, postmaster.pid);
}

async function runServer(
  paths: ClusterPaths,
  copiesFolder: string,
  account: ServerAccount | undefined,
  { durable = true, archives = false, supervision }: EmbeddedPostgresOptions,
): Promise<EmbeddedPostgres> {
  refuseOtherMajor(paths);
  const binaries = usableBinaries(copiesFolder, account);
  const passwords = loadPasswords(paths);
  if (!existsSync(paths.data)) {
    await createCluster(binaries, paths, account, { name: OWNER, password: passwords.owner });
  }
  const urlAt = (port: number) => urlOf(port, OWNER, passwords.owner, 'postgres');
  const settings = archiveSettings(archives ? makeArchiveFolder(paths.folder, account) : null);
  const launch = { binaries, paths, account, durable, settings, urlAt };
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
    ownerUrl: urlOf(port, OWNER, passwords.owner, database),
    folder: paths.folder,
    exited: supervisor.exited,
    stop: () => supervisor.stop(),
  };
}

/** The server itself would end with a FATAL in its log. */
function refuseOtherMajor({ data }: ClusterPaths): void {
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

/** A start would make an empty database beside half a restored one. */
function refuseUnfinishedRestore(dataFolder: string): void {
  if (!existsSync(unfinishedRestoreOf(dataFolder))) return;
  throw new EmbeddedPostgresFailure(
    `A restore into ${dataFolder} was broken off, and what it left is not whole. Run the restore again.`,
  );
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

export function urlOf(port: number, user: string, password: string, name: string): string {
  return `postgres://${user}:${password}@127.0.0.1:${port}/${name}`;
}
