import type { Example } from './examples';
import { HASH_COUNT } from './words';

/** A word in more than a fifth of all requests carries no information. */
const COMMON_SHARE = 0.2;
const MIN_COMMON = 40;

/** Damping by the number of occurrences: repeating a word does not double its information. */
const damped = Float32Array.from({ length: 256 }, (_, count) => Math.log1p(count));

/** Before anything is indexed, every word has the same weight. */
const idfOf = (containing: number, total: number): number => {
  if (total === 0) return 1;
  return containing > Math.max(MIN_COMMON, COMMON_SHARE * total)
    ? 0
    : Math.log((total + 1) / (containing + 1));
};

export type Terms = Pick<Example, 'hashes' | 'counts'>;

export interface WeightedTerm {
  readonly hash: number;
  readonly position: number;
  readonly weight: number;
  readonly idf: number;
}

/**
 * Finds the slots that contain a hash, with its inverse document frequency. Memory is proportional to the content,
 * since most organisations are small.
 */
export class TermIndex {
  private constructor(
    /** Ascending. */
    private readonly hashes: Uint16Array,
    private readonly idf: Float32Array,
    /** Slots of the hash at position p range from starts[p] to starts[p + 1]. */
    private readonly starts: Int32Array,
    private readonly slots: Uint16Array,
    private readonly counts: Uint8Array,
    /** For a hash that no indexed request has. */
    private readonly unknownIdf: number,
  ) {}

  static readonly empty = TermIndex.of([]);

  static of(examples: readonly Terms[]): TermIndex {
    const slotCounts = new Int32Array(HASH_COUNT);
    let total = 0;
    for (const { hashes } of examples) {
      total += hashes.length;
      for (let index = 0; index < hashes.length; index += 1)
        slotCounts[hashes[index] ?? 0] = (slotCounts[hashes[index] ?? 0] ?? 0) + 1;
    }
    const hashes = Uint16Array.from({ length: slotCounts.reduce((sum, one) => sum + Math.min(1, one), 0) });
    const starts = new Int32Array(hashes.length + 1);
    const nextSlot = new Int32Array(HASH_COUNT);
    let position = 0;
    for (let hash = 0; hash < HASH_COUNT; hash += 1) {
      const count = slotCounts[hash] ?? 0;
      if (count === 0) continue;
      hashes[position] = hash;
      starts[position + 1] = (starts[position] ?? 0) + count;
      nextSlot[hash] = starts[position] ?? 0;
      position += 1;
    }
    const idf = Float32Array.from(hashes, (hash) => idfOf(slotCounts[hash] ?? 0, examples.length));
    const slots = new Uint16Array(total);
    const counts = new Uint8Array(total);
    examples.forEach((example, slot) => {
      for (let at = 0; at < example.hashes.length; at += 1) {
        const hash = example.hashes[at] ?? 0;
        const target = nextSlot[hash] ?? 0;
        slots[target] = slot;
        counts[target] = example.counts[at] ?? 0;
        nextSlot[hash] = target + 1;
      }
    });
    return new TermIndex(hashes, idf, starts, slots, counts, idfOf(0, examples.length));
  }

  weigh({ hashes, counts }: Terms): WeightedTerm[] {
    const weighted: WeightedTerm[] = [];
    for (let at = 0; at < hashes.length; at += 1) {
      const hash = hashes[at] ?? 0;
      const place = this.positionOf(hash);
      const idf = place < 0 ? this.unknownIdf : (this.idf[place] ?? 0);
      if (idf > 0)
        weighted.push({ hash, position: place, idf, weight: idf * (damped[counts[at] ?? 0] ?? 0) });
    }
    return weighted;
  }

  addTo(sums: Float32Array, { position: place, weight, idf }: WeightedTerm): void {
    if (place < 0) return;
    const { starts, slots, counts } = this;
    const factor = weight * idf;
    const end = starts[place + 1] ?? 0;
    for (let at = starts[place] ?? 0; at < end; at += 1) {
      const slot = slots[at] ?? 0;
      sums[slot] = (sums[slot] ?? 0) + factor * (damped[counts[at] ?? 0] ?? 0);
    }
  }

  computeNorms(norms: Float32Array): void {
    norms.fill(0);
    const { starts, slots, counts } = this;
    for (let position = 0; position < this.hashes.length; position += 1) {
      const idf = this.idf[position] ?? 0;
      const end = starts[position + 1] ?? 0;
      for (let at = starts[position] ?? 0; at < end; at += 1) {
        const slot = slots[at] ?? 0;
        norms[slot] = (norms[slot] ?? 0) + (idf * (damped[counts[at] ?? 0] ?? 0)) ** 2;
      }
    }
    for (let slot = 0; slot < norms.length; slot += 1) norms[slot] = Math.sqrt(norms[slot] ?? 0);
  }

  private positionOf(hash: number): number {
    const { hashes } = this;
    let [low, high] = [0, hashes.length - 1];
    while (low <= high) {
      const middle = (low + high) >>> 1;
      const candidate = hashes[middle] ?? 0;
      if (candidate === hash) return middle;
      if (candidate < hash) low = middle + 1;
      else high = middle - 1;
    }
    return -1;
  }
}

export const normOf = (terms: readonly WeightedTerm[]): number =>
  Math.sqrt(terms.reduce((sum, { weight }) => sum + weight * weight, 0));
