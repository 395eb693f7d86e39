import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { EmbeddedPostgresFailure } from './failure';

export interface ServerAccount {
  uid: number;
  gid: number;
}

/** PostgreSQL refuses to run as root, so root uses an account that every system has; other users keep their own. */
export function serverAccount(): ServerAccount | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const accounts = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  for (const name of ['postgres', 'nobody']) {
    const entry = accounts.find((fields) => fields[0] === name);
    // macOS writes the numbers of the account `nobody` as -2.
    if (entry) return { uid: Number(entry[2]) >>> 0, gid: Number(entry[3]) >>> 0 };
  }
  throw new EmbeddedPostgresFailure(
    'PostgreSQL does not run as root, and this system has neither the account "postgres" nor "nobody". ' +
      'Start as an ordinary user, or point DATABASE_URL at a PostgreSQL server of your own.',
  );
}

/** Asks the system whether the account can pass through every folder above this one. */
export function canEnter(folder: string, account: ServerAccount | undefined): boolean {
  return spawnSync('test', ['-x', folder], { ...account, cwd: '/' }).status === 0;
}
