import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants, setPriority } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { SECOND_MS } from '../../kernel';
import { processEnvironment } from '../../platform';
import { BackupError } from '../backup-error';

/** The command line lies beside the service. */
const PROGRAM = join(__dirname, '..', 'cli.js');
/** A command that is asked to end may take so long to remove what it has made. */
const PARTING_MS = 15 * SECOND_MS;

/**
 * Runs a command of backups in a process of its own, and answers what it prints: digests and copies of a whole database
 * would hold up requests here. Settings and secrets go by the environment.
 */
export async function runAside(words: readonly string[], signal: AbortSignal): Promise<string> {
  signal.throwIfAborted();
  const child = spawn(process.execPath, [PROGRAM, ...words], {
    // By the last one it notices when this process was killed.
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: processEnvironment,
  });
  await once(child, 'spawn');
  yieldTo(child);
  const stop = (): void => askToEnd(child);
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  try {
    const [output, complaint, [code, killedBy]] = await Promise.all([
      text(child.stdout!),
      text(child.stderr!),
      once(child, 'exit') as Promise<[number | null, string | null]>,
    ]);
    signal.throwIfAborted();
    if (killedBy !== null) throw new BackupError(`"${words[0]}" was ended by ${killedBy}.`);
    if (code !== 0) throw new BackupError(lastLine(complaint));
    return output;
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** What serves goes first, from the start of the command on. */
function yieldTo({ pid }: ChildProcess): void {
  try {
    setPriority(pid!, constants.priority.PRIORITY_LOW);
  } catch {
    // It has ended, or the system does not allow it: then it runs as others do.
  }
}

function askToEnd(child: ChildProcess): void {
  child.kill('SIGTERM');
  const insist = setTimeout(() => child.kill('SIGKILL'), PARTING_MS);
  child.once('exit', () => clearTimeout(insist));
}

const lastLine = (said: string): string => said.trim().split('\n').at(-1) ?? '';
