import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';

const cores = availableParallelism();
const canPin = cores > 1 && spawnSync('taskset', ['--version']).status === 0;

/** The measured process has the first core exclusively; everything else shares the others. */
const otherCores = cores === 2 ? '1' : `1-${cores - 1}`;

/** Command line that runs on the measured core. */
export const onMeasuredCore = (command: readonly string[]): readonly string[] =>
  canPin ? ['taskset', '--cpu-list', '0', ...command] : command;

/** Moves this process and its later children off the measured core. */
export function leaveMeasuredCore(): void {
  if (!canPin) return;
  spawnSync('taskset', ['--all-tasks', '--pid', '--cpu-list', otherCores, String(process.pid)]);
}

export const placement = canPin
  ? `measured process alone on core 0, everything else on ${otherCores}`
  : 'not pinned: taskset or a second core is missing, so the figures are rougher';
