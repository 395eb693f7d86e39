import { Injectable } from '@nestjs/common';

/** Whether new work is welcome, and how much is under way. */
@Injectable()
export class Lifecycle {
  private stopping = false;
  private inFlight = 0;
  private waiting: (() => void)[] = [];

  get draining(): boolean {
    return this.stopping;
  }

  begin(): void {
    this.inFlight += 1;
  }

  end(): void {
    this.inFlight -= 1;
    if (this.inFlight > 0) return;
    for (const wake of this.waiting.splice(0)) wake();
  }

  /** Refuses new work from now on. */
  drain(): void {
    this.stopping = true;
  }

  /** Settles once everything under way has ended, or the time is up. */
  async idle(withinMs: number): Promise<void> {
    if (this.inFlight === 0) return;
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
