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
import { EmbeddedPostgresFailure, explain } from './embedded/failure';
import {
  chooseFolder,
  createFolder,
  insideOf,
  removeServerFolder,
  serverFolder,
  unfinishedRestoreOf,
  USUAL_SHARED_FOLDER,
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
  /** Everything committed by then, and nothing committed later; undefined: all that the archive has. */
  readonly until?: Date;
  readonly fetch: FetchWal;
  readonly signal?: AbortSignal;
}

export interface Recovery {
  /** The last transaction that is in the database; null where the log had none. */
  readonly lastTransaction: Date | null;
  readonly segments: number;
}

const LOOK_MS = 50;
const NOT_REACHED = /recovery ended before configured recovery target was reached/;

/** The place of an embedded database that a backup is unpacked into, and that then replays its log. */
export class RestoredPostgres {
  private constructor(
    private readonly dataFolder: string,
    private readonly paths: ClusterPaths,
    private readonly account: ServerAccount | undefined,
    private readonly binaries: string,
  ) {}

  /** A folder that only a broken-off restore has written to is emptied first. */
  static async prepare(folder: string, sharedFolder = USUAL_SHARED_FOLDER): Promise<RestoredPostgres> {
    const dataFolder = resolve(folder);
    try {
      if (existsSync(unfinishedRestoreOf(dataFolder))) await removeUnfinished(dataFolder);
      const account = serverAccount();
      createFolder(dataFolder, account);
      writeFileSync(unfinishedRestoreOf(dataFolder), '', { mode: 0o600 });
      createFolder(insideOf(dataFolder), account);
      const paths = clusterPaths(chooseFolder(dataFolder, sharedFolder, account));
      const binaries = usableBinaries(account ? sharedFolder : paths.folder, account);
      const place = new RestoredPostgres(dataFolder, paths, account, binaries);
      place.folder('');
      return place;
    } catch (error) {
      throw explain(error, dataFolder);
    }
  }

  /** The path of a file of the cluster. */
  path(name: string): string {
    return join(this.paths.data, name);
  }

  /** Makes a folder of the cluster. */
  folder(name: string): void {
    mkdirSync(this.path(name), { recursive: true, mode: 0o700 });
    this.own(this.path(name));
  }

  own(path: string): void {
    if (this.account !== undefined) chownSync(path, this.account.uid, this.account.gid);
  }

  /** The passwords that the cluster was made with. */
  writePasswords(content: Buffer): void {
    writeFileSync(this.paths.passwords, content, { mode: 0o600, flush: true });
  }

  /** Replays the log, up to the moment, and ends with a database that is shut down in an orderly way. */
  async recover(options: RecoveryOptions): Promise<Recovery> {
    const feed = new WalFeed(join(this.paths.folder, 'wal-feed'), this.account, options.fetch);
    feed.open();
    try {
      try {
        return await this.replay(feed, options);
      } catch (error) {
        // Where nothing was committed after the moment, the whole archive is the answer.
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

  /** From now on the data folder can be started. */
  finish(): void {
    rmSync(unfinishedRestoreOf(this.dataFolder));
  }

  private async replay(feed: WalFeed, { until, signal }: RecoveryOptions): Promise<Recovery> {
    const { owner } = loadPasswords(this.paths);
    const urlAt = (port: number): string => urlOf(port, OWNER, owner, 'postgres');
    writeFileSync(this.path('recovery.signal'), '', { mode: 0o600 });
    this.own(this.path('recovery.signal'));
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
      return { ...(await this.promoted(launch, server, logStart, signal)), segments: feed.given };
    } finally {
      await stopServer(this.paths, server.pid);
    }
  }

  private async promoted(
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
        // Class 28: a wrong password stays wrong however long one waits.
        if ((error as { code?: string }).code?.startsWith('28')) throw error;
      }
      await delay(LOOK_MS);
    }
  }
}

/** https://www.postgresql.org/docs/18/runtime-config-wal.html, "Recovery Target": a time needs its zone. */
function recoverySettings(command: string, until: Date | undefined): string[] {
  return [
    'archive_mode=off',
    `restore_command=${command}`,
    // Another branch of the history may lie in the same archive.
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
    const left = livePostmaster(paths);
    if (left !== undefined) await stopServer(paths, left.pid);
  }
  removeServerFolder(dataFolder);
  for (const name of readdirSync(dataFolder).filter((each) => !kept.includes(each)))
    rmSync(join(dataFolder, name), { recursive: true });
}

/** The root of a file system brings the first, the claim is this restore's; the mark says that all else came from one. */
const kept = ['lost+found', OWNER_FILE, basename(unfinishedRestoreOf(''))];

/** Locks a folder that is new, empty, or left by a broken-off restore; null if the folder holds anything else. */
export function claimForRestore(folder: string): { release(): void } | null {
  const isNew = !existsSync(folder);
  try {
    createFolder(folder, serverAccount());
    const claim = claimFolder(folder, folder);
    const release = (): void => {
      claim.release();
      // A restore that wrote nothing leaves nothing.
      if (isNew && readdirSync(folder).length === 0) rmdirSync(folder);
    };
    if (existsSync(unfinishedRestoreOf(folder)) || readdirSync(folder).every((name) => kept.includes(name)))
      return { release };
    claim.release();
    return null;
  } catch (error) {
    throw explain(error, folder);
  }
}
