import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { parseJsonText } from '../../../kernel';
import { recordFields } from '../../../audit';

/** The first frame of every journal: who writes it, and what its records consist of. */
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

/** It is null for a frame that is no header. */
export function headerOf(payload: string | undefined): JournalHeader | null {
  if (payload === undefined || !payload.startsWith('{')) return null;
  const header = parseJsonText(payload) as JournalHeader;
  return header.format === 1 ? header : null;
}

/** The process that wrote a journal on this machine may still run; null for another machine's. */
export function writerRuns(header: JournalHeader): boolean | null {
  if (header.host !== hostname()) return null;
  try {
    process.kill(header.pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
  // The number may have gone to another process since.
  return startOf(header.pid) === header.started;
}

/** A process began at this time of the kernel's own count; null where the system does not say. */
function startOf(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null;
  } catch {
    return null;
  }
}
