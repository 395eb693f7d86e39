import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { parseJsonText } from '../../../kernel';
import { recordFields } from '../../../audit';

export interface JournalHeader {
  readonly format: 1;
  readonly node: string;
  readonly host: string;
  readonly pid: number;
  readonly started: string | null;
  readonly fields: readonly string[];
}

export const journalHeader = (node: string): string =>
  JSON.stringify({
    format: 1,
    node,
    host: hostname(),
    pid: process.pid,
    started: startOf(process.pid),
    fields: recordFields,
  } satisfies JournalHeader);

/** Returns null if the frame is not a header. */
export function headerOf(payload: string | undefined): JournalHeader | null {
  if (payload === undefined || !payload.startsWith('{')) return null;
  const header = parseJsonText(payload) as JournalHeader;
  return header.format === 1 ? header : null;
}

/** Returns whether the process that wrote the journal still runs; null if it ran on another machine. */
export function isWriterRunning(header: JournalHeader): boolean | null {
  if (header.host !== hostname()) return null;
  try {
    process.kill(header.pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
  // The process id might have been reused since.
  return startOf(header.pid) === header.started;
}

/** Returns the start time of a process in kernel clock ticks; null if the system does not report it. */
function startOf(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null;
  } catch {
    return null;
  }
}
