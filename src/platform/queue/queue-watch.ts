import type { Queue, Worker } from 'bullmq';
import { monotonicMs, withDeadline } from '../../kernel';
import type { Metrics } from '../metrics';
import { LATE_AFTER_MS } from './job-rows';

const EVERY_MS = 15_000;
const ANSWER_DEADLINE_MS = 5_000;
/** So many jobs are looked at for the oldest one: those that fail longest are among the last to be tried again. */
const MOST_AGES = 100;

/** The watch notes whether the jobs of one queue are taken. A worker that takes none though some wait is broken. */
export class QueueWatch {
  private readonly timer = setInterval(() => void this.look(), EVERY_MS).unref();
  /** Jobs wait since then and this node has taken none. */
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

  private async look(): Promise<void> {
    try {
      const waiting = await withDeadline(ANSWER_DEADLINE_MS, this.count());
      if (waiting === 0) this.waitingSince = undefined;
      else this.waitingSince ??= monotonicMs();
    } catch {
      // Without an answer nothing is known; its outage is told by others.
      this.waitingSince = undefined;
    }
  }

  /** Answers how many jobs no worker has taken. */
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
      source.getJobs(['waiting'], 0, MOST_AGES, true),
      source.getJobs(['delayed'], 0, MOST_AGES, false),
    ]);
    return lists.flat().map(({ timestamp }) => timestamp);
  }
}
