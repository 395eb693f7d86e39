import { Injectable } from '@nestjs/common';
import { fault } from '../kernel';
import { Work } from './work';

/** How long cut work may take to settle. */
const CUT_GRACE_MS = 3_000;

/** Whether new work is welcome, and how much is under way. */
@Injectable()
export class Lifecycle {
  private stopping = false;
  private readonly open = new Set<Work>();
  private waiting: (() => void)[] = [];

  get draining(): boolean {
    return this.stopping;
  }

  begin(): Work {
    const work = new Work();
    this.open.add(work);
    return work;
  }

  end(work: Work): void {
    this.open.delete(work);
    if (this.open.size > 0) return;
    for (const wake of this.waiting.splice(0)) wake();
  }

  /** Refuses new work from now on, lets what is open finish, and cuts what takes longer than it may. */
  async drain(withinMs: number): Promise<void> {
    this.stopping = true;
    await this.idle(withinMs);
    for (const work of this.open)
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
