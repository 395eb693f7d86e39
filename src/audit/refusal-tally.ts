import { HOUR_MS, MINUTE_MS } from '../kernel';

/** Keys and codes are the gateway's own, so only a long outage of the database can reach this limit. */
const MAX_COUNTS = 100_000;

export interface RefusalCount {
  readonly keyId: number;
  readonly code: string;
  /** First millisecond of the hour. */
  readonly hour: number;
  count: number;
}

interface Minute {
  readonly minute: number;
  count: number;
}

export class RefusalTally {
  private counts = new Map<string, RefusalCount>();
  private readonly minutes = new Map<string, Minute>();

  constructor(private readonly sample: number) {}

  get size(): number {
    return this.counts.size;
  }

  /** Returns true if the refusal becomes a record: the first of its minute, or a sample. */
  add(keyId: number, code: string, now: number): boolean {
    this.count(keyId, code, Math.floor(now / HOUR_MS) * HOUR_MS, 1);
    const name = `${keyId} ${code}`;
    const minute = Math.floor(now / MINUTE_MS);
    const current = this.minutes.get(name);
    if (current?.minute !== minute) {
      this.minutes.set(name, { minute, count: 0 });
      return true;
    }
    current.count += 1;
    return current.count % this.sample === 0;
  }

  take(now: number): RefusalCount[] {
    const taken = [...this.counts.values()];
    this.counts = new Map();
    const minute = Math.floor(now / MINUTE_MS);
    for (const [name, seen] of this.minutes) if (seen.minute !== minute) this.minutes.delete(name);
    return taken;
  }

  /** Restores counts whose write failed. Returns how many refusals did not fit. */
  restore(counts: readonly RefusalCount[]): number {
    let lost = 0;
    for (const { keyId, code, hour, count } of counts)
      if (!this.count(keyId, code, hour, count)) lost += count;
    return lost;
  }

  private count(keyId: number, code: string, hour: number, by: number): boolean {
    const name = `${keyId} ${code} ${hour}`;
    const existing = this.counts.get(name);
    if (existing !== undefined) existing.count += by;
    else if (this.counts.size < MAX_COUNTS) this.counts.set(name, { keyId, code, hour, count: by });
    else return false;
    return true;
  }
}
