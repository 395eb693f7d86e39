/**
 * Sends the head of a stream early, with the name of the lane being called, if its supplier is silent. Keep-alives
 * follow, as proxies drop a request that gets no response.
 */
export class EarlyHead<Opened> {
  private opened: Opened | null = null;
  private readonly timer: NodeJS.Timeout;

  /** `open` returns null while no lane is being called. */
  constructor(silenceMs: number, open: () => Opened | null) {
    this.timer = setInterval(() => {
      this.opened = open();
      if (this.opened !== null) clearInterval(this.timer);
    }, silenceMs).unref();
  }

  /** Returns the stream if its head has been sent, and cancels the timer. */
  take(): Opened | null {
    clearInterval(this.timer);
    return this.opened;
  }
}
