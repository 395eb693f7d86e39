interface Generation {
  readonly ids: Set<string>;
  /** So many of them are not committed. */
  uncommitted: number;
}

/**
 * The ids of settled requests that are not committed. Requests are committed in order, so ids leave by generation.
 * One Set for all of them would replace its table again and again (see `SwapList`).
 */
export class PendingIds {
  private readonly generations: Generation[] = [];

  /** It is false where the id is pending already. */
  add(id: string): boolean {
    if (this.generations.some(({ ids }) => ids.has(id))) return false;
    const youngest = this.generations.at(-1) ?? this.begin();
    youngest.ids.add(id);
    youngest.uncommitted += 1;
    return true;
  }

  /** Later ids are not committed together with the present ones. */
  separate(): void {
    if (this.generations.at(-1)?.ids.size !== 0) this.begin();
  }

  /** The oldest of them are committed. */
  committed(count: number): void {
    for (let left = count; left > 0;) {
      const oldest = this.generations[0];
      if (oldest === undefined) return;
      const taken = Math.min(left, oldest.uncommitted);
      oldest.uncommitted -= taken;
      left -= taken;
      if (oldest.uncommitted === 0) this.generations.shift();
    }
  }

  private begin(): Generation {
    const generation = { ids: new Set<string>(), uncommitted: 0 };
    this.generations.push(generation);
    return generation;
  }
}
