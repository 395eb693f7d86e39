import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chownSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseJsonText } from '../../../kernel';
import type { ServerAccount } from './account';
import { EmbeddedPostgresFailure } from './failure';

export interface ClusterPaths {
  folder: string;
  data: string;
  log: string;
  passwords: string;
}

export interface ClusterPasswords {
  owner: string;
  login: string;
}

export function clusterPaths(folder: string): ClusterPaths {
  return {
    folder,
    data: join(folder, 'cluster'),
    log: join(folder, 'postgres.log'),
    passwords: join(folder, 'passwords.json'),
  };
}

/** The passwords are written before the cluster that needs them, so neither ever exists alone. */
export function loadPasswords(paths: ClusterPaths): ClusterPasswords {
  if (existsSync(paths.passwords))
    return parseJsonText(readFileSync(paths.passwords, 'utf8')) as ClusterPasswords;
  if (existsSync(paths.data)) {
    throw new EmbeddedPostgresFailure(
      `The file ${paths.passwords} is missing, and without it the database in ${paths.data} cannot be opened. ` +
        'Restore the file from your backup.',
    );
  }
  const passwords = { owner: randomBytes(24).toString('hex'), login: randomBytes(24).toString('hex') };
  const unfinished = `${paths.passwords}.${process.pid}`;
  writeFileSync(unfinished, JSON.stringify(passwords), { mode: 0o600, flush: true });
  renameSync(unfinished, paths.passwords);
  return passwords;
}

/** initdb works in a folder of its own that is renamed at the end: a cluster is complete or absent. */
export async function createCluster(
  binaries: string,
  paths: ClusterPaths,
  account: ServerAccount | undefined,
  superuser: { name: string; password: string },
): Promise<void> {
  const unfinished = join(paths.folder, 'cluster.unfinished');
  const passwordFile = join(paths.folder, 'initial-password');
  rmSync(unfinished, { recursive: true, force: true });
  mkdirSync(unfinished, { mode: 0o700 });
  writeFileSync(passwordFile, superuser.password, { mode: 0o600 });
  if (account) for (const path of [unfinished, passwordFile]) chownSync(path, account.uid, account.gid);
  try {
    await run(join(binaries, 'bin', 'initdb'), account, [
      ...['-D', unfinished, '-U', superuser.name, '--pwfile', passwordFile, '--auth=scram-sha-256'],
      ...['--encoding=UTF8', '--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C'],
    ]);
    renameSync(unfinished, paths.data);
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
    rmSync(passwordFile, { force: true });
  }
}

function run(file: string, account: ServerAccount | undefined, args: string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, {
      ...account,
      cwd: '/',
      stdio: ['ignore', 'ignore', 'pipe'],
      env: serverEnvironment,
    });
    let errorOutput = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (errorOutput += text));
    child.on('error', reject);
    child.on('close', (code) =>
      code === 0 ? resolve() : reject(new Error(errorOutput.trim() || `exit code ${code}`)),
    );
  });
}

/** The server needs nothing of our environment, least of all the secrets in it. */
export const serverEnvironment = { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };
