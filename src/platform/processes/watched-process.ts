import type { Settings } from '../config';

/** Missed beats after which a process counts as hung. */
export const BEATS_PER_LIMIT = 10;

/** The beat of a process that a debugger can pause. */
export const DEBUGGED = -1;

export interface WatchedProcess {
  /** A counter that the event loop increases. */
  readonly beats: Int32Array;
  readonly limitMs: number;
  readonly logFormat: Settings['logFormat'];
  readonly process: number | null;
  readonly extensions: readonly { readonly id: string; readonly folder: string }[];
}
