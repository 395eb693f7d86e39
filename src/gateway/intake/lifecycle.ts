import { setTimeout as delay } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { fault, SwapList } from '../../kernel';
import { Settings } from '../../platform';
import { Work } from './work';

/** Cut work may take so long to settle. */
const CUT_GRACE_MS = 3_000;
const FULL = 'The service has as many requests under way as it can carry.';

/** The lifecycle knows whether new work is accepted, and how much is in progress. */
@Injectable()
export class Lifecycle {
  private leaving = false;
  private stopping = false;
  private readonly open = new SwapList<Work>();
  private waiting: (() => void)[] = [];

  constructor(private readonly settings: Settings) {}

  /** The service was asked to stop: readiness fails, so load balancers send new work elsewhere. */
  get draining(): boolean {
    return this.leaving;
  }

  /** So many requests are under way. */
  get openRequests(): number {
    return this.open.size;
  }

  /**
   * Admits one request, unless the service is stopping or full. An immediate refusal can go to another node, and
   * running requests stay fast.
   */
  begin(): Work {
    if (this.stopping) throw fault('pod_draining');
    if (this.open.size >= this.settings.openRequestsLimit) {
      throw fault('capacity_exceeded', { status: 503, message: FULL, retryAfterSeconds: 1 });
    }
    const work = new Work();
    this.open.add(work);
    return work;
  }

  end(work: Work): void {
    this.open.remove(work);
    if (this.open.size > 0) return;
    for (const wake of this.waiting.splice(0)) wake();
  }

  /**
   * Graceful shutdown: during the notice period new work is still accepted, as load balancers poll readiness. Then
   * new work is refused, open work may finish, and the rest is cut at the deadline.
   */
  async drain(withinMs: number, noticeMs = 0): Promise<void> {
    this.leaving = true;
    if (noticeMs > 0) await delay(noticeMs);
    this.stopping = true;
    await this.idle(Math.max(0, withinMs - noticeMs));
    const stopping = fault('stream_interrupted', { message: 'The service is stopping.' });
    for (const work of this.open.all()) work.stop(stopping, { byService: true });
    await this.idle(CUT_GRACE_MS);
  }

  /** Settles once no work is open, or time is up. */
  async idle(withinMs: number): Promise<void> {
    if (this.open.size === 0) return;
    let timer: NodeJS.Timeout | undefined;
    await Promise.race([
      new Promise<void>((resolve) => this.waiting.push(resolve)),
      new Promise<void>((resolve) => {
        timer = setTimeout(resolve, withinMs);
      }),
    ]);
    clearTimeout(timer);
  }
}
