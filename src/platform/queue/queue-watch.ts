import type { Queue, Worker } from 'bullmq';
import { monotonicMs, withDeadline } from '../../kernel';
import type { Metrics } from '../metrics';
import { LATE_AFTER_MS } from './job-rows';

const EVERY_MS = 15_000;
const ANSWER_DEADLINE_MS = 5_000;

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
      const waiting = await withDeadline(ANSWER_DEADLINE_MS, this.source.getWaitingCount());
      this.metrics.jobsWaiting.set({ queue: this.queue }, waiting);
      if (waiting === 0) this.waitingSince = undefined;
      else this.waitingSince ??= monotonicMs();
    } catch {
      // Without an answer nothing is known; its outage is told by others.
      this.waitingSince = undefined;
    }
  }
}
