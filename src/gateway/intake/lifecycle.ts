import { setTimeout as delay } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { fault, SwapList } from '../../kernel';
import { Settings } from '../../platform';
import { RequestWork } from './work';

const CANCEL_GRACE_MS = 3_000;
const FULL_MESSAGE = 'The service has as many requests under way as it can carry.';

@Injectable()
export class Lifecycle {
  private isDraining = false;
  private isStopping = false;
  private readonly open = new SwapList<RequestWork>();
  private waiting: (() => void)[] = [];

  constructor(private readonly settings: Settings) {}

  /** True once the service was asked to stop: readiness fails, so that load balancers send new work elsewhere. */
  get draining(): boolean {
    return this.isDraining;
  }

  get openRequests(): number {
    return this.open.size;
  }

  /**
   * Admits one request, unless the service is stopping or full. An immediate refusal can go to another node, and
   * running requests stay fast.
   */
  start(): RequestWork {
    if (this.isStopping) throw fault('pod_draining');
    if (this.open.size >= this.settings.openRequestsLimit) {
      throw fault('capacity_exceeded', { status: 503, message: FULL_MESSAGE, retryAfterSeconds: 1 });
    }
    const work = new RequestWork();
    this.open.add(work);
    return work;
  }

  end(work: RequestWork): void {
    this.open.remove(work);
    if (this.open.size > 0) return;
    for (const wake of this.waiting.splice(0)) wake();
  }

  /**
   * Shuts down gracefully: accepts new work during the notice period, as load balancers poll readiness. Then refuses
   * new work, lets open work finish, and cancels the rest at the deadline.
   */
  async drain(withinMs: number, noticeMs = 0): Promise<void> {
    this.isDraining = true;
    if (noticeMs > 0) await delay(noticeMs);
    this.isStopping = true;
    await this.waitUntilIdle(Math.max(0, withinMs - noticeMs));
    const stoppingError = fault('stream_interrupted', { message: 'The service is stopping.' });
    for (const work of this.open.all()) work.stop(stoppingError, { byService: true });
    await this.waitUntilIdle(CANCEL_GRACE_MS);
  }

  async waitUntilIdle(withinMs: number): Promise<void> {
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
