import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

export interface RunningProcess {
  name: string;
  /** Process ids are reused; together with its start a process is unmistakable. */
  startedAt: string;
}

/** Process with this id; undefined if there is none or only a zombie. */
export function runningProcess(pid: number): RunningProcess | undefined {
  return process.platform === 'linux' ? fromProcFolder(pid) : fromPs(pid);
}

function fromProcFolder(pid: number): RunningProcess | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return undefined;
  }
  // The name is in parentheses and can contain any character.
  const nameEnds = stat.lastIndexOf(')');
  const [state, ...fields] = stat.slice(nameEnds + 2).split(' ');
  if (state === 'Z' || state === 'X') return undefined;
  return { name: stat.slice(stat.indexOf('(') + 1, nameEnds), startedAt: fields[18] ?? '' };
}

function fromPs(pid: number): RunningProcess | undefined {
  try {
    const readField = (field: string) =>
      execFileSync('ps', ['-o', `${field}=`, '-p', String(pid)], { encoding: 'utf8' }).trim();
    return { name: readField('comm'), startedAt: readField('lstart') };
  } catch {
    return undefined;
  }
}
