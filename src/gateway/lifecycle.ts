import { setTimeout as delay } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { fault, SwapList } from '../kernel';
import { Settings } from '../platform';
import { Work } from './work';

/** How long cut work may take to settle. */
const CUT_GRACE_MS = 3_000;
const FULL = 'The service has as many requests under way as it can carry.';

/** Whether new work is welcome, and how much is under way. */
@Injectable()
export class Lifecycle {
  private leaving = false;
  private stopping = false;
  private readonly open = new SwapList<Work>();
  private waiting: (() => void)[] = [];

  constructor(private readonly settings: Settings) {}

  /** Asked to stop: readiness fails, so load balancers send new work elsewhere. */
  get draining(): boolean {
    return this.leaving;
  }

  /** How many requests are under way. */
  get openRequests(): number {
    return this.open.size;
  }

  /**
   * One request more, unless the service is stopping or has as many as it can carry: what is refused at once can go
   * to another node, and what is under way does not become slower by it.
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
   * For the time of the notice new work is still served: balancers look at readiness every few seconds, and send until
   * they have seen it. Then it is refused, what is open may finish, and what takes longer than it may is cut.
   */
  async drain(withinMs: number, noticeMs = 0): Promise<void> {
    this.leaving = true;
    if (noticeMs > 0) await delay(noticeMs);
    this.stopping = true;
    await this.idle(Math.max(0, withinMs - noticeMs));
    for (const work of this.open.all())
      work.stop(fault('stream_interrupted', { message: 'The service is stopping.' }));
    await this.idle(CUT_GRACE_MS);
  }

  /** Settles once everything under way has ended, or the time is up. */
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
