const INITIAL_CAPACITY = 8;
/** A ring that doubled would hold twice what it needs for most of its life. */
const GROWTH = 1.25;

/**
 * Growing ring buffer of timestamps; the oldest leaves first. Each takes four bytes, as ticks before the newest; for a
 * minute, a tick is 1/65,536 ms. Timestamps are rounded up, so that none expires early.
 */
export class CallLog {
  private ring = new Uint32Array(INITIAL_CAPACITY);
  private first = 0;
  private count = 0;
  private startedAt = 0;
  private last = -Infinity;
  private lastTick = 0;
  private readonly ticksPerMs: number;

  constructor(windowMs: number) {
    this.ticksPerMs = 2 ** Math.floor(Math.log2(2 ** 32 / (windowMs + 1)));
  }

  get size(): number {
    return this.count;
  }

  get newest(): number {
    return this.count === 0 ? -Infinity : this.last;
  }

  at(index: number): number {
    const behind = (this.lastTick - (this.ring[(this.first + index) % this.ring.length] ?? 0)) >>> 0;
    return Math.min(this.last, this.startedAt + (this.lastTick - behind) / this.ticksPerMs);
  }

  add(moment: number): void {
    if (this.count === 0) this.startedAt = moment;
    if (this.count === this.ring.length) this.grow();
    this.last = moment;
    this.lastTick = Math.ceil((moment - this.startedAt) * this.ticksPerMs);
    this.ring[(this.first + this.count) % this.ring.length] = this.lastTick;
    this.count += 1;
  }

  /** Drops timestamps up to and including the given moment. */
  dropUntil(moment: number): void {
    while (this.count > 0 && this.at(0) <= moment) {
      this.first = (this.first + 1) % this.ring.length;
      this.count -= 1;
    }
  }

  private grow(): void {
    const larger = new Uint32Array(Math.ceil(this.ring.length * GROWTH));
    const tail = this.ring.subarray(this.first);
    larger.set(tail);
    larger.set(this.ring.subarray(0, this.first), tail.length);
    this.ring = larger;
    this.first = 0;
  }
}
