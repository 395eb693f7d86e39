import { constants, setPriority } from 'node:os';
import { BackupError } from '../../backup';
import { runningEmbeddedPostgres, type Settings } from '../../platform';

/** True while a service has the embedded database of this data folder. Then this process lets the service go first. */
export function yieldsToService({ databaseUrl, dataFolder }: Settings): boolean {
  if (databaseUrl !== undefined || runningEmbeddedPostgres(dataFolder) === undefined) return false;
  try {
    setPriority(constants.priority.PRIORITY_LOW);
  } catch {
    // Some systems forbid it.
  }
  return true;
}

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/** The work can be asked to end, and removes what it has made: by a signal, or as the service ended that started it. */
export async function untilAsked<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const asked = new AbortController();
  const ask = (): void => asked.abort(new BackupError('It was asked to end before it was done.'));
  for (const name of SIGNALS) process.on(name, ask);
  if (process.connected) process.once('disconnect', ask);
  try {
    return await work(asked.signal);
  } catch (error) {
    throw asked.signal.aborted ? asked.signal.reason : error;
  } finally {
    for (const name of SIGNALS) process.off(name, ask);
    process.off('disconnect', ask);
  }
}
