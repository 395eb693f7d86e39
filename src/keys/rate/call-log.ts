const FIRST_CAPACITY = 8;

/** Moments in the order in which they came, the oldest leaving first: a ring that grows as far as it is used. */
export class CallLog {
  private ring = new Float64Array(FIRST_CAPACITY);
  private first = 0;
  private count = 0;

  get size(): number {
    return this.count;
  }

  /** Counted from the oldest. */
  at(place: number): number {
    return this.ring[(this.first + place) % this.ring.length] ?? -Infinity;
  }

  get newest(): number {
    return this.count === 0 ? -Infinity : this.at(this.count - 1);
  }

  add(moment: number): void {
    if (this.count === this.ring.length) this.grow();
    this.ring[(this.first + this.count) % this.ring.length] = moment;
    this.count += 1;
  }

  /** Forgets what is not later than the given moment. */
  dropUntil(moment: number): void {
    while (this.count > 0 && this.at(0) <= moment) {
      this.first = (this.first + 1) % this.ring.length;
      this.count -= 1;
    }
  }

  private grow(): void {
    const larger = new Float64Array(this.ring.length * 2);
    for (let place = 0; place < this.count; place += 1) larger[place] = this.at(place);
    this.ring = larger;
    this.first = 0;
  }
}
