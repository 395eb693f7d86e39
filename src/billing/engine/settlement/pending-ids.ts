interface IdGeneration {
  readonly ids: Set<string>;
  uncommitted: number;
}

/**
 * Ids of settled requests that are not committed. Requests are committed in order, so ids leave by generation. A single
 * Set for all would reallocate its table again and again (see `SwapList`).
 */
export class PendingIds {
  private readonly generations: IdGeneration[] = [];

  /** Returns false if the id is pending already. */
  add(id: string): boolean {
    if (this.generations.some(({ ids }) => ids.has(id))) return false;
    const newest = this.generations.at(-1) ?? this.addGeneration();
    newest.ids.add(id);
    newest.uncommitted += 1;
    return true;
  }

  /** Starts a new generation, so that later ids are not committed together with the current ones. */
  startGeneration(): void {
    if (this.generations.at(-1)?.ids.size !== 0) this.addGeneration();
  }

  forget(count: number): void {
    for (let remaining = count; remaining > 0;) {
      const oldest = this.generations[0];
      if (oldest === undefined) return;
      const removed = Math.min(remaining, oldest.uncommitted);
      oldest.uncommitted -= removed;
      remaining -= removed;
      if (oldest.uncommitted === 0) this.generations.shift();
    }
  }

  private addGeneration(): IdGeneration {
    const generation = { ids: new Set<string>(), uncommitted: 0 };
    this.generations.push(generation);
    return generation;
  }
}
