import { hashOf, IdTable, newIdWords, readId } from './id-table';

interface Generation {
  readonly ids: IdTable;
  /** How many of them have not arrived. */
  open: number;
}

/** A longer table is not kept for the next generation. */
const largestSpare = 4_096;

/**
 * The ids of settled requests on their way to the database, where they arrive in the order they came in. They are let
 * go by whole generations, which costs nothing for each.
 */
export class IdsUnderWay {
  private readonly generations: Generation[] = [];
  private readonly words = newIdWords();
  private spare: IdTable | undefined;

  /** False where it is under way already. */
  add(id: string): boolean {
    const words = readId(id, this.words);
    const hash = hashOf(words);
    const youngest = this.generations.at(-1) ?? this.part();
    for (const generation of this.generations) {
      if (generation !== youngest && generation.ids.has(words, hash)) return false;
    }
    if (!youngest.ids.add(words, hash)) return false;
    youngest.open += 1;
    return true;
  }

  /** What comes from now on does not arrive together with what is here. */
  part(): Generation {
    const generation = { ids: this.spare ?? new IdTable(), open: 0 };
    this.spare = undefined;
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
      if (oldest.open === 0) this.letGo(this.generations.shift()!);
    }
  }

  private letGo({ ids }: Generation): void {
    if (ids.room > largestSpare) return;
    ids.clear();
    this.spare = ids;
  }
}
