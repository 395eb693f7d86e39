import { Caller } from './caller';

/** Callers in one process. A failure of any of them invalidates the measurement. */
export class Load {
  /** Since it was opened. */
  answers = 0;
  private readonly callers: Caller[] = [];
  private fail: (cause: Error) => void = () => undefined;
  private readonly failure = new Promise<never>((_resolve, reject) => {
    this.fail = reject;
  });

  private constructor() {
    this.failure.catch(() => undefined);
  }

  static async open(port: number, connections: number): Promise<Load> {
    const load = new Load();
    const trouble = (what: string): void => load.fail(new Error(`port ${port}: ${what}`));
    for (let one = 0; one < connections; one += 1) load.callers.push(await Caller.open(port, trouble));
    return load;
  }

  /** Each caller sends its next request as soon as it is answered. Returns the number of answers. */
  async closed(request: Buffer, milliseconds: number, onPiece: (() => void) | null = null): Promise<number> {
    const until = performance.now() + milliseconds;
    const before = this.answers;
    const untilTime = (caller: Caller): Promise<void> =>
      new Promise((resolve) => {
        caller.onPiece = onPiece;
        caller.onAnswer = () => {
          this.answers += 1;
          if (performance.now() < until) caller.ask(request);
          else resolve();
        };
        caller.ask(request);
      });
    await Promise.race([Promise.all(this.callers.map(untilTime)), this.failure]);
    return this.answers - before;
  }

  /** Sends at a fixed rate, even while earlier requests are open. Returns the time of each request in ms. */
  async paced(request: Buffer, rate: number, milliseconds: number): Promise<number[]> {
    const times: number[] = [];
    const free = [...this.callers];
    const began = performance.now();
    const total = Math.round((rate * milliseconds) / 1_000);
    let sent = 0;
    const answered = new Promise<void>((resolve) => {
      const send = (): void => {
        const caller = free.pop();
        if (caller === undefined) return this.fail(new Error('more requests are open than connections'));
        const at = performance.now();
        caller.onAnswer = () => {
          this.answers += 1;
          times.push(performance.now() - at);
          free.push(caller);
          if (times.length === total) resolve();
        };
        caller.ask(request);
      };
      const tick = (): void => {
        const due = Math.min(total, Math.floor(((performance.now() - began) * rate) / 1_000) + 1);
        for (; sent < due; sent += 1) send();
        if (sent < total) setTimeout(tick, Math.max(1, began + (sent * 1_000) / rate - performance.now()));
      };
      tick();
    });
    await Promise.race([answered, this.failure]);
    return times;
  }

  close(): void {
    for (const caller of this.callers.splice(0)) caller.close();
  }
}
