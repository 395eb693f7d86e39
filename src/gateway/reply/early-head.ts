/**
 * The head of a stream whose supplier says nothing for long. Proxies give up a request that nothing comes
 * back for. So the head goes out with the name of the lane that is being asked, and keep-alives follow it.
 */
export class EarlyHead<Opened> {
  private opened: Opened | null = null;
  private readonly timer: NodeJS.Timeout;

  /** `open` answers null while no lane is being asked. */
  constructor(silenceMs: number, open: () => Opened | null) {
    this.timer = setInterval(() => {
      this.opened = open();
      if (this.opened !== null) clearInterval(this.timer);
    }, silenceMs).unref();
  }

  /** The stream, where its head has gone; from here on it does not go any more. */
  take(): Opened | null {
    clearInterval(this.timer);
    return this.opened;
  }
}
