import { spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { realpathSync, rmSync, statSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { MINUTE_MS } from '../../../kernel';
import type { ServerAccount } from './account';
import { type ClusterPaths, serverEnvironment } from './cluster';
import { EmbeddedPostgresFailure } from './failure';
import { runningProcess } from './processes';

export interface Postmaster {
  pid: number;
  port: number;
}

export interface RunningServer extends Postmaster {
  /** Null if the server is not our child: its end can then only be polled. */
  exited: Promise<void> | null;
}

export interface Launch {
  binaries: string;
  paths: ClusterPaths;
  account: ServerAccount | undefined;
  durable: boolean;
  /** Settings that differ between starts, each as NAME=VALUE. */
  settings: readonly string[];
  /** URL on the given port whose password proves that the server there is ours. */
  urlAt: (port: number) => string;
}

const logLimitBytes = 5_000_000;
const leftoverDeadlineMs = 15_000;
const startDeadlineMs = MINUTE_MS;
const recoveryDeadlineMs = 600_000;
const portAttempts = 3;

/** Takes over the server that a killed process left running, or starts one on the given port or a free one. */
export async function startOrAdopt(launch: Launch, port?: number): Promise<RunningServer> {
  const orphan = livePostmaster(launch.paths);
  if (orphan && (await waitUntilReady(launch, orphan))) {
    if (await hasRequestedSettings(launch, orphan)) return { ...orphan, exited: null };
    await stopServer(launch.paths, orphan.pid);
  }
  await clearStaleLock(launch.paths);
  for (let attempt = 1; ; attempt += 1) {
    const logStart = existsSync(launch.paths.log) ? statSync(launch.paths.log).size : 0;
    const server = spawnServer(launch, port ?? (await freePort()));
    try {
      if (await waitUntilReady(launch, server)) {
        return server;
      }
    } catch (error) {
      await stopServer(launch.paths, server.pid);
      throw error;
    }
    const errors = logErrors(launch.paths.log, logStart);
    // Another process might have taken the port in the meantime.
    if (attempt === portAttempts || !/could not bind|Address already in use/.test(errors))
      throw new Error(errors);
  }
}

/** A server that a killed process left running might have other settings. */
async function hasRequestedSettings({ urlAt, settings }: Launch, { port }: Postmaster): Promise<boolean> {
  const requested = settings.map((setting) => setting.split('=', 2));
  const [names, values] = [0, 1].map((index) => requested.map((pair) => pair[index] ?? ''));
  return withClient(urlAt(port), async (client) => {
    const { rows } = await client.query<{ fits: boolean }>(
      `SELECT bool_and(coalesce(current_setting(name, true), '') = value) AS fits
         FROM unnest($1::text[], $2::text[]) AS wanted (name, value)`,
      [names, values],
    );
    return rows[0]?.fits !== false;
  });
}

/** True when the server responds, false when it has ended; after a crash it first replays its journal. */
async function waitUntilReady({ urlAt }: Launch, server: Postmaster): Promise<boolean> {
  const started = performance.now();
  for (;;) {
    try {
      return await withClient(urlAt(server.port), () => Promise.resolve(true));
    } catch (error) {
      if (!runningProcess(server.pid)) return false;
      const { code } = error as { code?: string };
      const deadline = code === '57P03' ? recoveryDeadlineMs : startDeadlineMs;
      // Class 28: retrying does not fix a wrong password.
      if (code?.startsWith('28') || performance.now() - started > deadline) throw error;
    }
    await delay(20);
  }
}

export async function withClient<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  // A connection that breaks between two queries reports it as an event as well as on the next query.
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** The server that now runs on this cluster, even if the process that started it is gone. */
export function livePostmaster(paths: ClusterPaths): Postmaster | undefined {
  const file = join(paths.data, 'postmaster.pid');
  if (!existsSync(file)) return undefined;
  const lines = readFileSync(file, 'utf8').split('\n');
  const pid = Number(lines[0]);
  return isPostgres(pid) ? { pid, port: Number(lines[3]) } : undefined;
}

const isPostgres = (pid: number) => /postgres$/.test(runningProcess(pid)?.name ?? '');

/**
 * Removes the lock file of a dead server. PostgreSQL would take any process with the old id for a rival, such as a
 * zombie or an unrelated process in a restarted container.
 */
async function clearStaleLock(paths: ClusterPaths): Promise<void> {
  const file = join(paths.data, 'postmaster.pid');
  if (process.platform !== 'linux' || !existsSync(file)) return;
  const data = realpathSync(paths.data);
  // The processes of a killed server end on their own; until then they still use the data.
  const deadline = performance.now() + leftoverDeadlineMs;
  for (let pids = processesWorkingIn(data); pids.length > 0; pids = processesWorkingIn(data)) {
    if (performance.now() > deadline) {
      throw new EmbeddedPostgresFailure(
        `Processes of an earlier PostgreSQL still work in ${paths.data} (${pids.join(', ')}). End them first.`,
      );
    }
    await delay(20);
  }
  rmSync(file, { force: true });
}

/** Every process of a server has its data folder as working directory. */
function processesWorkingIn(folder: string): string[] {
  return readdirSync('/proc').filter((entry) => {
    try {
      return /^\d+$/.test(entry) && readlinkSync(`/proc/${entry}/cwd`) === folder;
    } catch {
      return false;
    }
  });
}

export function logErrors(log: string, from: number): string {
  const lines = readFileSync(log).subarray(from).toString('utf8').split('\n');
  const serious = lines.filter((line) => /FATAL|PANIC|ERROR|could not|error/.test(line));
  return (serious.length > 0 ? serious : lines).slice(-4).join(' ').trim() || `see ${log}`;
}

/**
 * Starts the server in its own process group: Ctrl+C in a terminal reaches the entire foreground group, and the
 * database must outlive draining requests.
 */
export function spawnServer(launch: Launch, port: number): RunningServer {
  const { binaries, paths, account, durable } = launch;
  const settings = [
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    'max_connections=200',
    'timezone=UTC',
    'log_timezone=UTC',
    ...(durable ? [] : ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off']),
    ...launch.settings,
  ];
  if (existsSync(paths.log) && statSync(paths.log).size > logLimitBytes) rmSync(paths.log);
  const log = openSync(paths.log, 'a', 0o600);
  try {
    const child = spawn(
      join(binaries, 'bin', 'postgres'),
      ['-D', paths.data, '-p', String(port), ...settings.flatMap((setting) => ['-c', setting])],
      { ...account, cwd: '/', env: serverEnvironment, detached: true, stdio: ['ignore', log, log] },
    );
    child.unref();
    const exited = new Promise<void>((resolve) => {
      child.once('exit', () => resolve());
      child.once('error', () => resolve());
    });
    if (child.pid === undefined) throw new Error(`${child.spawnfile} could not be started`);
    return { pid: child.pid, port, exited };
  } finally {
    closeSync(log);
  }
}

/** Shuts the server down fast, or immediately if that takes too long; the next start recovers from the journal. */
export async function stopServer(paths: ClusterPaths, pid: number, deadlineMs = 10_000): Promise<void> {
  for (const signal of ['SIGINT', 'SIGQUIT'] as const) {
    if (!isPostgres(pid)) return;
    process.kill(pid, signal);
    const deadline = performance.now() + deadlineMs;
    while (isPostgres(pid) && performance.now() < deadline) await delay(15);
  }
  if (!isPostgres(pid)) return;
  throw new EmbeddedPostgresFailure(
    `The embedded PostgreSQL in ${paths.folder} (process ${pid}) does not stop.`,
  );
}

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}
