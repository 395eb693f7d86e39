interface Generation {
  readonly ids: Set<string>;
  /** How many of them have not arrived. */
  open: number;
}

/**
 * The ids of settled requests on their way to the database, where they arrive in the order they came in. They are let
 * go by whole sets: one that is added to and taken from all the time keeps more alive than it holds, as `Roster` tells.
 */
export class IdsUnderWay {
  private readonly generations: Generation[] = [];

  has(id: string): boolean {
    for (const { ids } of this.generations) if (ids.has(id)) return true;
    return false;
  }

  add(id: string): void {
    const youngest = this.generations.at(-1) ?? this.part();
    youngest.ids.add(id);
    youngest.open += 1;
  }

  /** What comes from now on does not arrive together with what is here. */
  part(): Generation {
    const generation = { ids: new Set<string>(), open: 0 };
    this.generations.push(generation);
    return generation;
  }

  /** The oldest have arrived. */
  arrived(count: number): void {
    for (let left = count; left > 0 && this.generations.length > 0;) {
      const oldest = this.generations[0]!;
      const taken = Math.min(left, oldest.open);
      oldest.open -= taken;
      left -= taken;
      if (oldest.open === 0) this.generations.shift();
    }
  }
}
