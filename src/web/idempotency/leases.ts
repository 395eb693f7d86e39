/** Renews the claims of all running calls of a node with one statement, and with none while nothing runs. */
export class Leases {
  private readonly claims = new Set<string>();
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly renew: (claims: readonly string[]) => Promise<void>,
    private readonly everyMs: number,
  ) {}

  start(claim: string): void {
    this.claims.add(claim);
    this.timer ??= setInterval(() => void this.renew([...this.claims]), this.everyMs).unref();
  }

  end(claim: string): void {
    this.claims.delete(claim);
    if (this.claims.size > 0) return;
    clearInterval(this.timer);
    this.timer = undefined;
  }
}
