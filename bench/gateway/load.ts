import { Caller } from './caller';

/** Callers in one process. A failure of any of them invalidates the measurement. */
export class Load {
  /** Number of responses since the load was opened. */
  responseCount = 0;
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
    const onFailure = (reason: string): void => load.fail(new Error(`port ${port}: ${reason}`));
    for (let index = 0; index < connections; index += 1)
      load.callers.push(await Caller.open(port, onFailure));
    return load;
  }

  /**
   * Closed loop: each caller sends its next request as soon as the response arrives. Returns the number of responses.
   */
  async runClosedLoop(
    request: Buffer,
    milliseconds: number,
    onPiece: (() => void) | null = null,
  ): Promise<number> {
    const until = performance.now() + milliseconds;
    const before = this.responseCount;
    const untilTime = (caller: Caller): Promise<void> =>
      new Promise((resolve) => {
        caller.onPiece = onPiece;
        caller.onResponse = () => {
          this.responseCount += 1;
          if (performance.now() < until) caller.send(request);
          else resolve();
        };
        caller.send(request);
      });
    await Promise.race([Promise.all(this.callers.map(untilTime)), this.failure]);
    return this.responseCount - before;
  }

  /**
   * Open loop: sends at a fixed rate, even while earlier requests are in flight. Returns the duration of each request
   * in ms.
   */
  async runAtRate(request: Buffer, rate: number, milliseconds: number): Promise<number[]> {
    const times: number[] = [];
    const idleCallers = [...this.callers];
    const startedAt = performance.now();
    const total = Math.round((rate * milliseconds) / 1_000);
    let sentCount = 0;
    const allAnswered = new Promise<void>((resolve) => {
      const send = (): void => {
        const caller = idleCallers.pop();
        if (caller === undefined) return this.fail(new Error('more requests are open than connections'));
        const at = performance.now();
        caller.onResponse = () => {
          this.responseCount += 1;
          times.push(performance.now() - at);
          idleCallers.push(caller);
          if (times.length === total) resolve();
        };
        caller.send(request);
      };
      const tick = (): void => {
        const due = Math.min(total, Math.floor(((performance.now() - startedAt) * rate) / 1_000) + 1);
        for (; sentCount < due; sentCount += 1) send();
        if (sentCount < total)
          setTimeout(tick, Math.max(1, startedAt + (sentCount * 1_000) / rate - performance.now()));
      };
      tick();
    });
    await Promise.race([allAnswered, this.failure]);
    return times;
  }

  close(): void {
    for (const caller of this.callers.splice(0)) caller.close();
  }
}
