import {
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type ServerAccount, serverAccount } from './embedded/account';
import { usableBinaries } from './embedded/binaries';
import { type ClusterPaths, clusterPaths, loadPasswords } from './embedded/cluster';
import { EmbeddedPostgresFailure, explainFailure } from './embedded/failure';
import {
  chooseFolder,
  createFolder,
  embeddedFolderOf,
  removeServerFolder,
  serverFolder,
  unfinishedRestoreOf,
  DEFAULT_SHARED_FOLDER,
} from './embedded/folders';
import { claimFolder, OWNER_FILE } from './embedded/owner-file';
import { runningProcess } from './embedded/processes';
import {
  freePort,
  type Launch,
  livePostmaster,
  logErrors,
  type RunningServer,
  spawnServer,
  stopServer,
  withClient,
} from './embedded/server';
import { type FetchWal, WalFeed } from './embedded/wal-feed';
import { OWNER, urlOf } from './embedded-postgres';

export interface RecoveryOptions {
  /** Restores exactly what was committed by then; undefined for everything in the archive. */
  readonly until?: Date;
  readonly fetch: FetchWal;
  readonly signal?: AbortSignal;
}

export interface Recovery {
  /** Last transaction in the database; null if the log had none. */
  readonly lastTransaction: Date | null;
  readonly segments: number;
}

const POLL_MS = 50;
const NOT_REACHED = /recovery ended before configured recovery target was reached/;

/** An embedded database that a backup is unpacked into and that then replays its log. */
export class RestoredPostgres {
  private constructor(
    private readonly dataFolder: string,
    private readonly paths: ClusterPaths,
    private readonly account: ServerAccount | undefined,
    private readonly binaries: string,
  ) {}

  /** Empties a folder that only an interrupted restore has written to. */
  static async prepare(folder: string, sharedFolder = DEFAULT_SHARED_FOLDER): Promise<RestoredPostgres> {
    const dataFolder = resolve(folder);
    try {
      if (existsSync(unfinishedRestoreOf(dataFolder))) await removeUnfinished(dataFolder);
      const account = serverAccount();
      createFolder(dataFolder, account);
      writeFileSync(unfinishedRestoreOf(dataFolder), '', { mode: 0o600 });
      createFolder(embeddedFolderOf(dataFolder), account);
      const paths = clusterPaths(chooseFolder(dataFolder, sharedFolder, account));
      const binaries = usableBinaries(account ? sharedFolder : paths.folder, account);
      const restored = new RestoredPostgres(dataFolder, paths, account, binaries);
      restored.createClusterFolder('');
      return restored;
    } catch (error) {
      throw explainFailure(error, dataFolder);
    }
  }

  path(name: string): string {
    return join(this.paths.data, name);
  }

  createClusterFolder(name: string): void {
    mkdirSync(this.path(name), { recursive: true, mode: 0o700 });
    this.giveToServer(this.path(name));
  }

  giveToServer(path: string): void {
    if (this.account !== undefined) chownSync(path, this.account.uid, this.account.gid);
  }

  writePasswords(content: Buffer): void {
    writeFileSync(this.paths.passwords, content, { mode: 0o600, flush: true });
  }

  /** Replays the log up to the requested time, and shuts the database down cleanly. */
  async recover(options: RecoveryOptions): Promise<Recovery> {
    const feed = new WalFeed(join(this.paths.folder, 'wal-feed'), this.account, options.fetch);
    feed.open();
    try {
      try {
        return await this.replay(feed, options);
      } catch (error) {
        // If nothing was committed after that time, the complete archive is the result.
        if (options.until === undefined || !NOT_REACHED.test((error as Error).message)) throw error;
        const { until: _until, ...rest } = options;
        return await this.replay(feed, rest);
      }
    } catch (error) {
      throw feed.failure ?? error;
    } finally {
      await feed.close();
    }
  }

  /** Marks the data folder as ready to be started. */
  finish(): void {
    rmSync(unfinishedRestoreOf(this.dataFolder));
  }

  private async replay(feed: WalFeed, { until, signal }: RecoveryOptions): Promise<Recovery> {
    const { owner } = loadPasswords(this.paths);
    const urlAt = (port: number): string => urlOf(port, OWNER, owner, 'postgres');
    writeFileSync(this.path('recovery.signal'), '', { mode: 0o600 });
    this.giveToServer(this.path('recovery.signal'));
    const launch: Launch = {
      binaries: this.binaries,
      paths: this.paths,
      account: this.account,
      durable: true,
      settings: recoverySettings(feed.command, until),
      urlAt,
    };
    const logStart = existsSync(this.paths.log) ? statSync(this.paths.log).size : 0;
    const server = spawnServer(launch, await freePort());
    try {
      return {
        ...(await this.waitForPromotion(launch, server, logStart, signal)),
        segments: feed.providedCount,
      };
    } finally {
      await stopServer(this.paths, server.pid);
    }
  }

  private async waitForPromotion(
    { urlAt }: Launch,
    { pid, port }: RunningServer,
    logStart: number,
    signal: AbortSignal | undefined,
  ): Promise<Pick<Recovery, 'lastTransaction'>> {
    for (;;) {
      signal?.throwIfAborted();
      if (runningProcess(pid) === undefined)
        throw new EmbeddedPostgresFailure(
          `The database could not be recovered: ${logErrors(this.paths.log, logStart)}`,
        );
      try {
        const state = await withClient(urlAt(port), async (client) => {
          const { rows } = await client.query<{ recovers: boolean; last: Date | null }>(
            'SELECT pg_is_in_recovery() AS recovers, pg_last_xact_replay_timestamp() AS last',
          );
          return rows[0];
        });
        if (state?.recovers === false) return { lastTransaction: state.last };
      } catch (error) {
        // Class 28: retrying does not fix a wrong password.
        if ((error as { code?: string }).code?.startsWith('28')) throw error;
      }
      await delay(POLL_MS);
    }
  }
}

/** https://www.postgresql.org/docs/18/runtime-config-wal.html, "Recovery Target": a time needs its zone. */
function recoverySettings(command: string, until: Date | undefined): string[] {
  return [
    'archive_mode=off',
    `restore_command=${command}`,
    // Another timeline might be in the same archive.
    'recovery_target_timeline=current',
    'recovery_target_action=promote',
    ...(until === undefined
      ? []
      : [`recovery_target_time=${until.toISOString().replace('T', ' ').replace('Z', '+00')}`]),
  ];
}

async function removeUnfinished(dataFolder: string): Promise<void> {
  const folder = serverFolder(dataFolder);
  if (folder !== undefined) {
    const paths = clusterPaths(folder);
    const postmaster = livePostmaster(paths);
    if (postmaster !== undefined) await stopServer(paths, postmaster.pid);
  }
  removeServerFolder(dataFolder);
  for (const name of readdirSync(dataFolder).filter((each) => !ignoredEntries.includes(each)))
    rmSync(join(dataFolder, name), { recursive: true });
}

/**
 * A file system brings `lost+found`, and the lock is this restore's. The mark shows that everything else came from a
 * restore.
 */
const ignoredEntries = ['lost+found', OWNER_FILE, basename(unfinishedRestoreOf(''))];

/** Locks a folder that is new, empty, or left by an interrupted restore; null if the folder holds anything else. */
export function claimForRestore(folder: string): { release(): void } | null {
  const isNew = !existsSync(folder);
  try {
    createFolder(folder, serverAccount());
    const claim = claimFolder(folder, folder);
    const release = (): void => {
      claim.release();
      // A restore that wrote nothing leaves nothing behind.
      if (isNew && readdirSync(folder).length === 0) rmdirSync(folder);
    };
    if (
      existsSync(unfinishedRestoreOf(folder)) ||
      readdirSync(folder).every((name) => ignoredEntries.includes(name))
    )
      return { release };
    claim.release();
    return null;
  } catch (error) {
    throw explainFailure(error, folder);
  }
}
