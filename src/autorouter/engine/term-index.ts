import type { Example } from './examples';
import { HASHES } from './words';

/** A word in more than a fifth of everything tells nothing. */
const COMMON_SHARE = 0.2;
const COMMON_LEAST = 40;

/** It goes by count of a word in a request: a word said twice does not tell twice as much. */
const damped = Float32Array.from({ length: 256 }, (_, count) => Math.log1p(count));

/** Before anything is indexed every word tells the same. */
const idfOf = (having: number, all: number): number => {
  if (all === 0) return 1;
  return having > Math.max(COMMON_LEAST, COMMON_SHARE * all) ? 0 : Math.log((all + 1) / (having + 1));
};

export type Terms = Pick<Example, 'hashes' | 'counts'>;

/** A word of a request: its place in the index, and what it weighs there. */
export interface WeighedTerm {
  readonly hash: number;
  readonly place: number;
  readonly weight: number;
  readonly idf: number;
}

/**
 * The index finds the slots that hold a hash, and how telling it is. As large as what is in it: most
 * organisations are small.
 */
export class TermIndex {
  private constructor(
    /** They are ascending. */
    private readonly hashes: Uint16Array,
    private readonly idf: Float32Array,
    /** Slots of the hash at place p lie from starts[p] up to starts[p + 1]. */
    private readonly starts: Int32Array,
    private readonly slots: Uint16Array,
    private readonly counts: Uint8Array,
    /** It is that of a hash that no indexed request has. */
    private readonly unknownIdf: number,
  ) {}

  static readonly empty = TermIndex.of([]);

  static of(examples: readonly Terms[]): TermIndex {
    const having = new Int32Array(HASHES);
    let total = 0;
    for (const { hashes } of examples) {
      total += hashes.length;
      for (let at = 0; at < hashes.length; at += 1)
        having[hashes[at] ?? 0] = (having[hashes[at] ?? 0] ?? 0) + 1;
    }
    const hashes = Uint16Array.from({ length: having.reduce((sum, one) => sum + Math.min(1, one), 0) });
    const starts = new Int32Array(hashes.length + 1);
    const placeOf = new Int32Array(HASHES);
    let place = 0;
    for (let hash = 0; hash < HASHES; hash += 1) {
      const count = having[hash] ?? 0;
      if (count === 0) continue;
      hashes[place] = hash;
      starts[place + 1] = (starts[place] ?? 0) + count;
      placeOf[hash] = starts[place] ?? 0;
      place += 1;
    }
    const idf = Float32Array.from(hashes, (hash) => idfOf(having[hash] ?? 0, examples.length));
    const slots = new Uint16Array(total);
    const counts = new Uint8Array(total);
    examples.forEach((example, slot) => {
      for (let at = 0; at < example.hashes.length; at += 1) {
        const hash = example.hashes[at] ?? 0;
        const free = placeOf[hash] ?? 0;
        slots[free] = slot;
        counts[free] = example.counts[at] ?? 0;
        placeOf[hash] = free + 1;
      }
    });
    return new TermIndex(hashes, idf, starts, slots, counts, idfOf(0, examples.length));
  }

  /** The words of a request that tell anything. */
  weigh({ hashes, counts }: Terms): WeighedTerm[] {
    const terms: WeighedTerm[] = [];
    for (let at = 0; at < hashes.length; at += 1) {
      const hash = hashes[at] ?? 0;
      const place = this.placeOf(hash);
      const idf = place < 0 ? this.unknownIdf : (this.idf[place] ?? 0);
      if (idf > 0) terms.push({ hash, place, idf, weight: idf * (damped[counts[at] ?? 0] ?? 0) });
    }
    return terms;
  }

  /** Adds to each slot what it has in common with the word. */
  addTo(sums: Float32Array, { place, weight, idf }: WeighedTerm): void {
    if (place < 0) return;
    const { starts, slots, counts } = this;
    const factor = weight * idf;
    const end = starts[place + 1] ?? 0;
    for (let at = starts[place] ?? 0; at < end; at += 1) {
      const slot = slots[at] ?? 0;
      sums[slot] = (sums[slot] ?? 0) + factor * (damped[counts[at] ?? 0] ?? 0);
    }
  }

  /** The length of each slot's vector. */
  normsInto(norms: Float32Array): void {
    norms.fill(0);
    const { starts, slots, counts } = this;
    for (let place = 0; place < this.hashes.length; place += 1) {
      const idf = this.idf[place] ?? 0;
      const end = starts[place + 1] ?? 0;
      for (let at = starts[place] ?? 0; at < end; at += 1) {
        const slot = slots[at] ?? 0;
        norms[slot] = (norms[slot] ?? 0) + (idf * (damped[counts[at] ?? 0] ?? 0)) ** 2;
      }
    }
    for (let slot = 0; slot < norms.length; slot += 1) norms[slot] = Math.sqrt(norms[slot] ?? 0);
  }

  private placeOf(hash: number): number {
    const { hashes } = this;
    let [low, high] = [0, hashes.length - 1];
    while (low <= high) {
      const middle = (low + high) >>> 1;
      const found = hashes[middle] ?? 0;
      if (found === hash) return middle;
      if (found < hash) low = middle + 1;
      else high = middle - 1;
    }
    return -1;
  }
}

export const normOf = (terms: readonly WeighedTerm[]): number =>
  Math.sqrt(terms.reduce((sum, { weight }) => sum + weight * weight, 0));
