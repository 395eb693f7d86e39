import type { Example } from './examples';
import { HASHES } from './words';

/** Scored requests that are remembered one by one. */
const MEMORY_SIZE = 8_192;

const MOST_NEIGHBOURS = 100;
const MOST_QUERY_TERMS = 160;
const LEAST_SIMILARITY = 0.03;
/** A word in more than a fifth of everything tells nothing. */
const COMMON_SHARE = 0.2;
const COMMON_LEAST = 40;
const BINS = 1_024;
/** So many are compared one by one before the index is made anew. */
const MOST_UNINDEXED = 64;

const damped = Float32Array.from({ length: 256 }, (_, count) => Math.log1p(count));

/** A remembered request and how much it resembles the one at hand. */
export interface Neighbour {
  readonly slot: number;
  readonly similarity: number;
}

/** Which slots hold a hash, and how telling the hash is. */
interface Index {
  /** Slots of hash h lie from starts[h] up to starts[h + 1]. */
  readonly starts: Int32Array;
  readonly slots: Uint16Array;
  readonly counts: Uint8Array;
  readonly idf: Float32Array;
}

/** The last scored requests, in a ring, and who of them has which words. */
export class Memory {
  readonly examples: Example[] = [];
  /** By model, the score in each slot; NaN where the model was not scored. */
  readonly scores = new Map<string, Float32Array>();
  private readonly slots = new Map<string, number>();
  private next = 0;
  private stale = false;
  private index: Index = emptyIndex();
  private readonly norms = new Float32Array(MEMORY_SIZE);
  private readonly unindexed = new Set<number>();
  private readonly sums = new Float32Array(MEMORY_SIZE);
  private readonly query = new Float32Array(HASHES);

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
      this.unindexed.add(slot);
    }
    this.examples[slot] = example;
    for (const column of this.scores.values()) column[slot] = NaN;
    for (const { model, score } of example.outcomes) this.columnOf(model)[slot] = score;
  }

  /** In the order of learning, the oldest first. */
  inOrder(): Example[] {
    return this.examples.length < MEMORY_SIZE
      ? [...this.examples]
      : [...this.examples.slice(this.next), ...this.examples.slice(0, this.next)];
  }

  forget(model: string): void {
    this.scores.delete(model);
    this.examples.forEach((example, slot) => {
      const outcomes = example.outcomes.filter((outcome) => outcome.model !== model);
      if (outcomes.length < example.outcomes.length) this.examples[slot] = { ...example, outcomes };
    });
  }

  /** Has the index made anew before it is read next, however much is learned until then. */
  reindex(): void {
    this.stale = true;
  }

  private indexWhenDue(): void {
    const { length } = this.examples;
    if (!this.stale && this.unindexed.size <= Math.min(MOST_UNINDEXED, Math.max(8, length / 8))) return;
    this.index = indexOf(this.examples);
    this.unindexed.clear();
    this.examples.forEach((example, slot) => (this.norms[slot] = this.normOf(example)));
    this.stale = false;
  }

  /** The most similar first. `except` is not compared with itself. */
  nearest(asked: Pick<Example, 'hashes' | 'counts'>, except = -1): Neighbour[] {
    if (this.examples.length === 0) return [];
    this.indexWhenDue();
    const norm = this.normOf(asked);
    if (norm === 0) return [];
    const { starts, slots, counts } = this.index;
    const terms = this.heaviest(asked);
    this.sums.fill(0);
    for (const { hash, weight } of terms) {
      this.query[hash] = weight;
      const end = starts[hash + 1] ?? 0;
      const idf = this.index.idf[hash] ?? 0;
      for (let at = starts[hash] ?? 0; at < end; at += 1) {
        const slot = slots[at] ?? 0;
        this.sums[slot] = (this.sums[slot] ?? 0) + weight * idf * (damped[counts[at] ?? 0] ?? 0);
      }
    }
    for (const slot of this.unindexed) this.compareDirectly(slot);
    for (const { hash } of terms) this.query[hash] = 0;
    return this.best(norm, except);
  }

  private compareDirectly(slot: number): void {
    const example = this.examples[slot];
    if (example === undefined) return;
    let sum = 0;
    example.hashes.forEach((hash, at) => {
      const weight = this.query[hash] ?? 0;
      if (weight !== 0) sum += weight * (this.index.idf[hash] ?? 0) * (damped[example.counts[at] ?? 0] ?? 0);
    });
    this.sums[slot] = sum;
    this.norms[slot] = this.normOf(example);
  }

  /** Sums of all slots become similarities; the best of them are found by counting, without sorting all. */
  private best(norm: number, except: number): Neighbour[] {
    const { sums, norms } = this;
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

  private heaviest({
    hashes,
    counts,
  }: Pick<Example, 'hashes' | 'counts'>): { hash: number; weight: number }[] {
    const terms: { hash: number; weight: number }[] = [];
    hashes.forEach((hash, at) => {
      const weight = (this.index.idf[hash] ?? 0) * (damped[counts[at] ?? 0] ?? 0);
      if (weight > 0) terms.push({ hash, weight });
    });
    if (terms.length <= MOST_QUERY_TERMS) return terms;
    return terms.sort((one, other) => other.weight - one.weight).slice(0, MOST_QUERY_TERMS);
  }

  private normOf({ hashes, counts }: Pick<Example, 'hashes' | 'counts'>): number {
    let sum = 0;
    for (let at = 0; at < hashes.length; at += 1) {
      const weight = (this.index.idf[hashes[at] ?? 0] ?? 0) * (damped[counts[at] ?? 0] ?? 0);
      sum += weight * weight;
    }
    return Math.sqrt(sum);
  }

  private columnOf(model: string): Float32Array {
    let column = this.scores.get(model);
    if (column === undefined) this.scores.set(model, (column = new Float32Array(MEMORY_SIZE).fill(NaN)));
    return column;
  }
}

const emptyIndex = (): Index => ({
  starts: new Int32Array(HASHES + 1),
  slots: new Uint16Array(0),
  counts: new Uint8Array(0),
  idf: new Float32Array(HASHES).fill(1),
});

function indexOf(examples: readonly Example[]): Index {
  const starts = new Int32Array(HASHES + 1);
  for (const { hashes } of examples)
    for (let at = 0; at < hashes.length; at += 1) {
      const next = (hashes[at] ?? 0) + 1;
      starts[next] = (starts[next] ?? 0) + 1;
    }
  const idf = Float32Array.from({ length: HASHES }, (_, hash) =>
    idfOf(starts[hash + 1] ?? 0, examples.length),
  );
  for (let hash = 0; hash < HASHES; hash += 1)
    starts[hash + 1] = (starts[hash + 1] ?? 0) + (starts[hash] ?? 0);
  const total = starts[HASHES] ?? 0;
  const slots = new Uint16Array(total);
  const counts = new Uint8Array(total);
  const filled = starts.slice(0, HASHES);
  examples.forEach((example, slot) => {
    for (let at = 0; at < example.hashes.length; at += 1) {
      const hash = example.hashes[at] ?? 0;
      const place = filled[hash] ?? 0;
      slots[place] = slot;
      counts[place] = example.counts[at] ?? 0;
      filled[hash] = place + 1;
    }
  });
  return { starts, slots, counts, idf };
}

const idfOf = (having: number, all: number): number =>
  having > Math.max(COMMON_LEAST, COMMON_SHARE * all) ? 0 : Math.log((all + 1) / (having + 1));
