/** How long a stream may take to its first token. `onEnd` keeps one listener, the last one set. */
export class FirstTokenTimer {
  over = false;
  private notify: (() => void) | null = null;
  private readonly timer: NodeJS.Timeout;

  constructor(milliseconds: number) {
    this.timer = setTimeout(() => {
      this.over = true;
      this.notify?.();
    }, milliseconds);
  }

  onEnd(tell: () => void): void {
    this.notify = tell;
    if (this.over) tell();
  }

  stop(): void {
    clearTimeout(this.timer);
  }
}
