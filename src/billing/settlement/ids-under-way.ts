import { IdTable, type IdWords, newIdWords, readId } from './id-table';

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
  /** What was read last: who is looked for comes in mostly. */
  private lastRead = '';
  private spare: IdTable | undefined;

  has(id: string): boolean {
    const words = this.read(id);
    for (const { ids } of this.generations) if (ids.has(words)) return true;
    return false;
  }

  add(id: string): void {
    const youngest = this.generations.at(-1) ?? this.part();
    youngest.ids.add(this.read(id));
    youngest.open += 1;
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

  private read(id: string): IdWords {
    if (id !== this.lastRead) readId(id, this.words);
    this.lastRead = id;
    return this.words;
  }

  private letGo({ ids }: Generation): void {
    if (ids.room > largestSpare) return;
    ids.clear();
    this.spare = ids;
  }
}
