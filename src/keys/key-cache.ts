import { type Fault, monotonicMs } from '../kernel';
import type { Caller } from './caller';
import { isAffectedBy, type KeyChange } from './key-change';

/** An admitted key, and until when the secret it was admitted with is valid. */
export interface AdmittedKey {
  readonly caller: Caller;
  readonly secretUntil: number | null;
}

export type KeyVerdict = AdmittedKey | Fault;

interface RefusedKey {
  readonly problem: Fault;
  readonly until: number;
}

const REFUSED_MS = 5_000;

/**
 * Caches keys by a hash of their complete text: keys with a common prefix never collide, and memory contains no
 * secrets. Admitted and refused keys have separate limits, so that invented keys evict only each other.
 */
export class KeyCache {
  /**
   * Newer half of a two-generation cache: used entries move here, and the older half is dropped when this one is full.
   */
  private admitted = new Map<string, AdmittedKey>();
  private olderAdmitted = new Map<string, AdmittedKey>();
  private readonly refused = new Map<string, RefusedKey>();

  constructor(
    private readonly maxAdmitted = 50_000,
    private readonly maxRefused = 10_000,
  ) {}

  get size(): { admitted: number; refused: number } {
    return { admitted: this.admitted.size + this.olderAdmitted.size, refused: this.refused.size };
  }

  get(fingerprint: string): KeyVerdict | undefined {
    const cached = this.admitted.get(fingerprint) ?? this.promote(fingerprint);
    if (cached !== undefined) return cached;
    const refused = this.refused.get(fingerprint);
    if (refused === undefined || refused.until > monotonicMs()) return refused?.problem;
    this.refused.delete(fingerprint);
    return undefined;
  }

  put(fingerprint: string, verdict: KeyVerdict): void {
    if (verdict instanceof Error) {
      evictOldest(this.refused, this.maxRefused);
      this.refused.set(fingerprint, { problem: verdict, until: monotonicMs() + REFUSED_MS });
    } else {
      this.olderAdmitted.delete(fingerprint);
      this.admit(fingerprint, verdict);
    }
  }

  /** Drops all keys that a change might affect. Refusals carry no ids, so all of them are dropped. */
  forget(change: KeyChange | null): void {
    this.refused.clear();
    for (const generation of [this.admitted, this.olderAdmitted]) {
      if (change === null) generation.clear();
      else
        for (const [fingerprint, { caller }] of generation)
          if (isAffectedBy(change, caller)) generation.delete(fingerprint);
    }
  }

  private promote(fingerprint: string): AdmittedKey | undefined {
    const cached = this.olderAdmitted.get(fingerprint);
    if (cached === undefined) return undefined;
    this.olderAdmitted.delete(fingerprint);
    this.admit(fingerprint, cached);
    return cached;
  }

  private admit(fingerprint: string, verdict: AdmittedKey): void {
    if (this.admitted.size >= this.maxAdmitted / 2) {
      this.olderAdmitted = this.admitted;
      this.admitted = new Map();
    }
    this.admitted.set(fingerprint, verdict);
  }
}

function evictOldest(map: Map<string, unknown>, maxSize: number): void {
  if (map.size < maxSize) return;
  const oldest = map.keys().next();
  if (!oldest.done) map.delete(oldest.value);
}
