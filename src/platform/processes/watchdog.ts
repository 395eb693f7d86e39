import { url as inspectorUrl } from 'node:inspector';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { SECOND_MS } from '../../kernel';
import type { Settings } from '../config';
import type { Logger } from '../logging';
import { ownProcess } from './own-process';
import { BEATS_PER_LIMIT, DEBUGGED, type WatchedProcess } from './watched-process';

/**
 * Starts a thread that kills this process when its event loop is blocked for too long. A thread takes 12 MB, so there is
 * none if the process is alone and runs no code of extensions.
 */
export function startWatchdog(
  { watchdogMs, logFormat }: Settings,
  extensions: WatchedProcess['extensions'],
  logger: Logger,
): void {
  if (watchdogMs === 0 || (ownProcess === null && extensions.length === 0)) return;
  const beats = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const limitMs = Math.max(watchdogMs, SECOND_MS);
  const beat = (): void => {
    if (inspectorUrl() === undefined) Atomics.add(beats, 0, 1);
    else Atomics.store(beats, 0, DEBUGGED);
  };
  setInterval(beat, limitMs / BEATS_PER_LIMIT).unref();
  const workerData: WatchedProcess = { beats, limitMs, logFormat, process: ownProcess, extensions };
  new Worker(join(__dirname, 'watchdog-thread.js'), { workerData, execArgv: [] })
    .on('error', (error) => logger.error('the watchdog ended', { error }))
    .unref();
}
