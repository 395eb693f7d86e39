import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants, setPriority } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { SECOND_MS } from '../../kernel';
import { processEnvironment } from '../../platform';
import { BackupError } from '../backup-error';

const PROGRAM = join(__dirname, '..', 'cli.js');
/** How long a command can take to clean up after SIGTERM. */
const TERMINATION_GRACE_MS = 15 * SECOND_MS;

/**
 * Runs a backup command in a separate process and returns its output: digests and copies of a complete database would
 * delay requests here. Settings and secrets are passed in the environment.
 */
export async function runInProcess(args: readonly string[], signal: AbortSignal): Promise<string> {
  signal.throwIfAborted();
  const child = spawn(process.execPath, [PROGRAM, ...args], {
    // The IPC channel tells the child when this process was killed.
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: processEnvironment,
  });
  await once(child, 'spawn');
  lowerPriority(child);
  const stop = (): void => terminate(child);
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  try {
    const [output, errorOutput, [code, killedBy]] = await Promise.all([
      text(child.stdout!),
      text(child.stderr!),
      once(child, 'exit') as Promise<[number | null, string | null]>,
    ]);
    signal.throwIfAborted();
    if (killedBy !== null) throw new BackupError(`"${args[0]}" was ended by ${killedBy}.`);
    if (code !== 0) throw new BackupError(lastLine(errorOutput));
    return output;
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** Lowers the priority of the command, so that requests come first. */
function lowerPriority({ pid }: ChildProcess): void {
  try {
    setPriority(pid!, constants.priority.PRIORITY_LOW);
  } catch {
    // The process has ended, or the system does not allow a change: it then runs with normal priority.
  }
}

function terminate(child: ChildProcess): void {
  child.kill('SIGTERM');
  const killTimer = setTimeout(() => child.kill('SIGKILL'), TERMINATION_GRACE_MS);
  child.once('exit', () => clearTimeout(killTimer));
}

const lastLine = (output: string): string => output.trim().split('\n').at(-1) ?? '';
