import type { Example } from './examples';
import { normOf, TermIndex, type Terms, type WeightedTerm } from './term-index';
import { HASH_COUNT } from './words';

const MEMORY_SIZE = 8_192;
const INITIAL_CAPACITY = 64;

const MAX_NEIGHBOURS = 100;
const MAX_QUERY_TERMS = 160;
const MIN_SIMILARITY = 0.03;
const BINS = 1_024;
/** Maximum number of slots that are compared individually before the index is rebuilt. */
const MAX_UNINDEXED = 64;

export interface Neighbour {
  readonly slot: number;
  readonly similarity: number;
}

/** Scratch memory for one search at a time, shared by all memories. */
const sums = new Float32Array(MEMORY_SIZE);
const queryWeights = new Float32Array(HASH_COUNT);

/** The last scored requests as a ring buffer, with an index of their words. */
export class Memory {
  readonly examples: Example[] = [];
  /** Score per slot for each model; NaN if the model was not scored. */
  readonly scores = new Map<string, Float32Array>();
  private readonly slots = new Map<string, number>();
  private next = 0;
  private stale = false;
  private index = TermIndex.empty;
  private norms = new Float32Array(0);
  /** Slots changed since the index was built, with their terms once they have been computed. */
  private readonly unindexed = new Map<number, readonly WeightedTerm[] | null>();

  exampleOf(id: string): Example | undefined {
    const slot = this.slots.get(id);
    return slot === undefined ? undefined : this.examples[slot];
  }

  /** Replaces the oldest example, or the existing one if only outcomes were added. */
  remember(example: Example): void {
    const existing = this.slots.get(example.id);
    const slot = existing ?? this.next;
    if (existing === undefined) {
      const oldest = this.examples[slot];
      if (oldest !== undefined) this.slots.delete(oldest.id);
      this.slots.set(example.id, slot);
      this.next = (slot + 1) % MEMORY_SIZE;
      this.unindexed.set(slot, null);
    }
    this.ensureCapacity(slot);
    this.examples[slot] = example;
    for (const column of this.scores.values()) column[slot] = NaN;
    for (const { model, score } of example.outcomes) this.columnOf(model)[slot] = score;
  }

  inOrder(): Example[] {
    return this.examples.length < MEMORY_SIZE
      ? [...this.examples]
      : [...this.examples.slice(this.next), ...this.examples.slice(0, this.next)];
  }

  reindex(): void {
    this.stale = true;
  }

  private reindexIfStale(): void {
    const { length } = this.examples;
    if (!this.stale && this.unindexed.size <= Math.min(MAX_UNINDEXED, Math.max(8, length / 8))) return;
    this.index = TermIndex.of(this.examples);
    this.index.computeNorms(this.norms);
    this.unindexed.clear();
    this.stale = false;
  }

  /** Most similar first; the slot `except` is skipped. */
  nearest(request: Terms, except = -1): Neighbour[] {
    if (this.examples.length === 0) return [];
    this.reindexIfStale();
    const terms = this.index.weigh(request);
    const norm = normOf(terms);
    if (norm === 0) return [];
    const heaviest = heaviestOf(terms);
    sums.fill(0, 0, this.examples.length);
    for (const term of heaviest) {
      this.index.addTo(sums, term);
      queryWeights[term.hash] = term.weight;
    }
    for (const slot of this.unindexed.keys()) this.compareUnindexed(slot);
    for (const { hash } of heaviest) queryWeights[hash] = 0;
    return this.selectBest(norm, except);
  }

  private compareUnindexed(slot: number): void {
    const terms = this.unindexed.get(slot) ?? this.weighSlot(slot);
    let sum = 0;
    for (const { hash, weight } of terms) sum += weight * (queryWeights[hash] ?? 0);
    sums[slot] = sum;
  }

  private weighSlot(slot: number): readonly WeightedTerm[] {
    const example = this.examples[slot];
    const terms = example === undefined ? [] : this.index.weigh(example);
    this.unindexed.set(slot, terms);
    this.norms[slot] = normOf(terms);
    return terms;
  }

  /** Turns the sums of all slots into similarities and selects the best by counting instead of sorting all. */
  private selectBest(norm: number, except: number): Neighbour[] {
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
    for (let count = bins[bin] ?? 0; bin > 0 && count < MAX_NEIGHBOURS; count += bins[bin] ?? 0) bin -= 1;
    const minSimilarity = Math.max(MIN_SIMILARITY, bin / BINS);
    const near: Neighbour[] = [];
    for (let slot = 0; slot < size; slot += 1) {
      const similarity = sums[slot] ?? 0;
      if (similarity >= minSimilarity) near.push({ slot, similarity });
    }
    // Ties are broken by id, so that the order of learning does not matter.
    const idOf = ({ slot }: Neighbour): string => this.examples[slot]?.id ?? '';
    near.sort((one, other) => other.similarity - one.similarity || (idOf(one) < idOf(other) ? -1 : 1));
    return near.slice(0, MAX_NEIGHBOURS);
  }

  private columnOf(model: string): Float32Array {
    let column = this.scores.get(model);
    if (column === undefined)
      this.scores.set(model, (column = new Float32Array(this.norms.length).fill(NaN)));
    return column;
  }

  private ensureCapacity(slot: number): void {
    const { norms } = this;
    if (slot < norms.length) return;
    const capacity = Math.min(MEMORY_SIZE, Math.max(INITIAL_CAPACITY, 2 * norms.length));
    this.norms = new Float32Array(capacity);
    this.norms.set(norms);
    for (const [model, column] of this.scores) {
      const wider = new Float32Array(capacity).fill(NaN);
      wider.set(column);
      this.scores.set(model, wider);
    }
  }
}

const heaviestOf = (terms: WeightedTerm[]): WeightedTerm[] =>
  terms.length <= MAX_QUERY_TERMS
    ? terms
    : terms.sort((one, other) => other.weight - one.weight).slice(0, MAX_QUERY_TERMS);
