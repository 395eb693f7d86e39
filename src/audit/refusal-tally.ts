import { HOUR_MS, MINUTE_MS } from '../kernel';

/** Keys and codes are our own, so only a long outage of the database can reach this bound. */
const MOST_COUNTS = 100_000;

/** The refusals of a key with one code in one hour. */
export interface RefusalCount {
  readonly keyId: number;
  readonly code: string;
  /** The hour is named by its first millisecond. */
  readonly hour: number;
  count: number;
}

interface Minute {
  readonly minute: number;
  count: number;
}

/** Counts refusals in memory, and says which of them are kept as records. */
export class RefusalTally {
  private counts = new Map<string, RefusalCount>();
  private readonly minutes = new Map<string, Minute>();

  constructor(private readonly sample: number) {}

  /** The number of counts that wait to be written. */
  get size(): number {
    return this.counts.size;
  }

  /** A refusal is kept as a record when it is the first of its minute or drawn as a sample. */
  add(keyId: number, code: string, now: number): boolean {
    this.count(keyId, code, Math.floor(now / HOUR_MS) * HOUR_MS, 1);
    const name = `${keyId} ${code}`;
    const minute = Math.floor(now / MINUTE_MS);
    const running = this.minutes.get(name);
    if (running?.minute !== minute) {
      this.minutes.set(name, { minute, count: 0 });
      return true;
    }
    running.count += 1;
    return running.count % this.sample === 0;
  }

  /** Takes the counts since the last call; finished minutes are forgotten. */
  take(now: number): RefusalCount[] {
    const taken = [...this.counts.values()];
    this.counts = new Map();
    const minute = Math.floor(now / MINUTE_MS);
    for (const [name, seen] of this.minutes) if (seen.minute !== minute) this.minutes.delete(name);
    return taken;
  }

  /** Puts back counts whose write failed. Returns how many refusals did not fit. */
  giveBack(counts: readonly RefusalCount[]): number {
    let lost = 0;
    for (const { keyId, code, hour, count } of counts)
      if (!this.count(keyId, code, hour, count)) lost += count;
    return lost;
  }

  private count(keyId: number, code: string, hour: number, by: number): boolean {
    const name = `${keyId} ${code} ${hour}`;
    const known = this.counts.get(name);
    if (known !== undefined) known.count += by;
    else if (this.counts.size < MOST_COUNTS) this.counts.set(name, { keyId, code, hour, count: by });
    else return false;
    return true;
  }
}
