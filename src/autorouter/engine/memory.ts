import type { Example } from './examples';
import { normOf, TermIndex, type Terms, type WeighedTerm } from './term-index';
import { HASHES } from './words';

/** Scored requests that are remembered one by one. */
const MEMORY_SIZE = 8_192;
const FIRST_ROOM = 64;

const MOST_NEIGHBOURS = 100;
const MOST_QUERY_TERMS = 160;
const LEAST_SIMILARITY = 0.03;
const BINS = 1_024;
/** So many are compared one by one before the index is made anew. */
const MOST_UNINDEXED = 64;

/** A remembered request and how much it resembles the one at hand. */
export interface Neighbour {
  readonly slot: number;
  readonly similarity: number;
}

/** It is scratch memory for one search at a time, and all memories share it. */
const sums = new Float32Array(MEMORY_SIZE);
const asked = new Float32Array(HASHES);

/** The last scored requests, in a ring, and which of them have which words. */
export class Memory {
  readonly examples: Example[] = [];
  /** Each model has the score in each slot; NaN where the model was not scored. */
  readonly scores = new Map<string, Float32Array>();
  private readonly slots = new Map<string, number>();
  private next = 0;
  private stale = false;
  private index = TermIndex.empty;
  private norms = new Float32Array(0);
  /** These slots changed since the index was made; they have their words once these were asked for. */
  private readonly unindexed = new Map<number, readonly WeighedTerm[] | null>();

  exampleOf(id: string): Example | undefined {
    const slot = this.slots.get(id);
    return slot === undefined ? undefined : this.examples[slot];
  }

  /** Puts it in the place of the oldest, or in its own where only outcomes were added. */
  remember(example: Example): void {
    const known = this.slots.get(example.id);
    const slot = known ?? this.next;
    if (known === undefined) {
      const oldest = this.examples[slot];
      if (oldest !== undefined) this.slots.delete(oldest.id);
      this.slots.set(example.id, slot);
      this.next = (slot + 1) % MEMORY_SIZE;
      this.unindexed.set(slot, null);
    }
    this.makeRoom(slot);
    this.examples[slot] = example;
    for (const column of this.scores.values()) column[slot] = NaN;
    for (const { model, score } of example.outcomes) this.columnOf(model)[slot] = score;
  }

  /** Examples come in the order of learning, the oldest first. */
  inOrder(): Example[] {
    return this.examples.length < MEMORY_SIZE
      ? [...this.examples]
      : [...this.examples.slice(this.next), ...this.examples.slice(0, this.next)];
  }

  /** Has the index made anew before it is read next, however much is learned until then. */
  reindex(): void {
    this.stale = true;
  }

  private indexWhenDue(): void {
    const { length } = this.examples;
    if (!this.stale && this.unindexed.size <= Math.min(MOST_UNINDEXED, Math.max(8, length / 8))) return;
    this.index = TermIndex.of(this.examples);
    this.index.normsInto(this.norms);
    this.unindexed.clear();
    this.stale = false;
  }

  /** The most similar first. `except` is not compared with itself. */
  nearest(request: Terms, except = -1): Neighbour[] {
    if (this.examples.length === 0) return [];
    this.indexWhenDue();
    const terms = this.index.weigh(request);
    const norm = normOf(terms);
    if (norm === 0) return [];
    const heaviest = heaviestOf(terms);
    sums.fill(0, 0, this.examples.length);
    for (const term of heaviest) {
      this.index.addTo(sums, term);
      asked[term.hash] = term.weight;
    }
    for (const slot of this.unindexed.keys()) this.compareDirectly(slot);
    for (const { hash } of heaviest) asked[hash] = 0;
    return this.best(norm, except);
  }

  private compareDirectly(slot: number): void {
    const terms = this.unindexed.get(slot) ?? this.weighed(slot);
    let sum = 0;
    for (const { hash, weight } of terms) sum += weight * (asked[hash] ?? 0);
    sums[slot] = sum;
  }

  private weighed(slot: number): readonly WeighedTerm[] {
    const example = this.examples[slot];
    const terms = example === undefined ? [] : this.index.weigh(example);
    this.unindexed.set(slot, terms);
    this.norms[slot] = normOf(terms);
    return terms;
  }

  /** Sums of all slots become similarities; the best of them are found by counting, without sorting all. */
  private best(norm: number, except: number): Neighbour[] {
    const { norms } = this;
    const size = this.examples.length;
    const bins = new Uint16Array(BINS + 1);
    for (let slot = 0; slot < size; slot += 1) {
      const sum = sums[slot] ?? 0;
      const similarity = sum === 0 || slot === except ? 0 : Math.min(1, sum / (norm * (norms[slot] ?? 1)));
      sums[slot] = similarity;
      const bin = Math.floor(similarity * BINS);
      bins[bin] = (bins[bin] ?? 0) + 1;
    }
    let bin = BINS;
    for (let found = bins[bin] ?? 0; bin > 0 && found < MOST_NEIGHBOURS; found += bins[bin] ?? 0) bin -= 1;
    const least = Math.max(LEAST_SIMILARITY, bin / BINS);
    const near: Neighbour[] = [];
    for (let slot = 0; slot < size; slot += 1) {
      const similarity = sums[slot] ?? 0;
      if (similarity >= least) near.push({ slot, similarity });
    }
    // Ties go by id, so that the order of learning does not matter.
    const idOf = ({ slot }: Neighbour): string => this.examples[slot]?.id ?? '';
    near.sort((one, other) => other.similarity - one.similarity || (idOf(one) < idOf(other) ? -1 : 1));
    return near.slice(0, MOST_NEIGHBOURS);
  }

  private columnOf(model: string): Float32Array {
    let column = this.scores.get(model);
    if (column === undefined)
      this.scores.set(model, (column = new Float32Array(this.norms.length).fill(NaN)));
    return column;
  }

  /** Room doubles when it is full. */
  private makeRoom(slot: number): void {
    const { norms } = this;
    if (slot < norms.length) return;
    const room = Math.min(MEMORY_SIZE, Math.max(FIRST_ROOM, 2 * norms.length));
    this.norms = new Float32Array(room);
    this.norms.set(norms);
    for (const [model, column] of this.scores) {
      const wider = new Float32Array(room).fill(NaN);
      wider.set(column);
      this.scores.set(model, wider);
    }
  }
}

const heaviestOf = (terms: WeighedTerm[]): WeighedTerm[] =>
  terms.length <= MOST_QUERY_TERMS
    ? terms
    : terms.sort((one, other) => other.weight - one.weight).slice(0, MOST_QUERY_TERMS);
