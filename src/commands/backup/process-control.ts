import { constants, setPriority } from 'node:os';
import { BackupError } from '../../backup';
import { runningEmbeddedPostgres, type Settings } from '../../platform';

/**
 * Returns true while a service uses the embedded database of this data folder, and then lowers this process's priority.
 */
export function yieldToService({ databaseUrl, dataFolder }: Settings): boolean {
  if (databaseUrl !== undefined || runningEmbeddedPostgres(dataFolder) === undefined) return false;
  try {
    setPriority(constants.priority.PRIORITY_LOW);
  } catch {
    // Some systems forbid changing the priority.
  }
  return true;
}

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/** Runs work that ends and cleans up on a signal, or when the parent service ends. */
export async function runUntilInterrupted<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const interruption = new AbortController();
  const interrupt = (): void =>
    interruption.abort(new BackupError('It was asked to end before it was done.'));
  for (const name of SIGNALS) process.on(name, interrupt);
  if (process.connected) process.once('disconnect', interrupt);
  try {
    return await work(interruption.signal);
  } catch (error) {
    throw interruption.signal.aborted ? interruption.signal.reason : error;
  } finally {
    for (const name of SIGNALS) process.off(name, interrupt);
    process.off('disconnect', interrupt);
  }
}
