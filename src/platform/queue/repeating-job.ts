import { createHook } from '../hooks';

interface RepeatingJobRule {
  /** Name of a single job for all nodes; its row stays, so the name must not be reused. */
  readonly name: string;
  /** Five or six fields, in UTC. */
  readonly cron: string;
  /** Time after which the signal aborts; remaining work is done the next time. */
  readonly deadlineMs?: number;
}

type Run = (signal: AbortSignal) => Promise<unknown>;

/**
 * A method that runs by a schedule, on one node at a time. The method belongs to a provider of any module, is safe to
 * repeat, and ends soon after its signal.
 */
export const RepeatingJob = createHook<Run, RepeatingJobRule>();

export interface RegisteredJob extends RepeatingJobRule {
  readonly run: Run;
  /** True for a job of an extension: such jobs have slots of their own, and no node is restarted for them. */
  readonly isForeign?: true;
  /** Runs as soon as the jobs start, whatever its schedule says. */
  readonly isDueAtStart?: true;
}
