import type { Queue, Worker } from 'bullmq';
import { monotonicMs, withDeadline } from '../../kernel';
import type { Metrics } from '../metrics';
import { LATE_AFTER_MS } from './job-rows';

const CHECK_INTERVAL_MS = 15_000;
const RESPONSE_TIMEOUT_MS = 5_000;
/** Jobs sampled for the oldest one, since those that failed for the longest are retried among the last. */
const MAX_SAMPLED_JOBS = 100;

/** Checks whether the jobs of one queue are taken. A worker that takes none although some wait is broken. */
export class QueueWatch {
  private readonly timer = setInterval(() => void this.check(), CHECK_INTERVAL_MS).unref();
  /** Time since when jobs wait and this node has taken none. */
  private waitingSince: number | undefined;

  constructor(
    private readonly source: Queue,
    worker: Worker,
    private readonly metrics: Metrics,
  ) {
    worker.on('active', () => (this.waitingSince = undefined));
  }

  get queue(): string {
    return this.source.name;
  }

  get isStuck(): boolean {
    return this.waitingSince !== undefined && monotonicMs() - this.waitingSince > LATE_AFTER_MS;
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private async check(): Promise<void> {
    try {
      const waiting = await withDeadline(RESPONSE_TIMEOUT_MS, this.count());
      if (waiting === 0) this.waitingSince = undefined;
      else this.waitingSince ??= monotonicMs();
    } catch {
      // Without a response nothing is known; the outage is reported elsewhere.
      this.waitingSince = undefined;
    }
  }

  private async count(): Promise<number> {
    const { queue, metrics, source } = this;
    const {
      waiting = 0,
      delayed = 0,
      failed = 0,
    } = await source.getJobCounts('waiting', 'delayed', 'failed');
    metrics.jobsWaiting.set({ queue }, waiting);
    metrics.jobsDelayed.set({ queue }, delayed);
    metrics.jobsFailed.set({ queue }, failed);
    const jobs = waiting + delayed === 0 ? [] : await this.oldest();
    const since = Math.min(Date.now(), ...jobs);
    metrics.jobsOldest.set({ queue }, (Date.now() - since) / 1_000);
    return waiting;
  }

  private async oldest(): Promise<number[]> {
    const { source } = this;
    const lists = await Promise.all([
      source.getJobs(['waiting'], 0, MAX_SAMPLED_JOBS, true),
      source.getJobs(['delayed'], 0, MAX_SAMPLED_JOBS, false),
    ]);
    return lists.flat().map(({ timestamp }) => timestamp);
  }
}
