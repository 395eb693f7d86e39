import { type Fault, monotonicMs } from '../kernel';
import type { Caller } from './caller';
import { concerns, type KeyChange } from './key-change';

/** A key that was let in, and until when the secret it was let in with counts. */
export interface Admitted {
  readonly caller: Caller;
  readonly secretUntil: number | null;
}

export type KeyVerdict = Admitted | Fault;

interface Refused {
  readonly problem: Fault;
  readonly until: number;
}

const REFUSED_MS = 5_000;

/**
 * A cache of keys, by a hash of their whole text: keys with a common prefix never collide, and memory holds no
 * secrets. Accepted and refused keys have separate bounds, so that made-up keys evict only each other.
 */
export class KeyCache {
  /** A two-generation cache: used entries move to the newer one, and the older one is dropped when that is full. */
  private admitted = new Map<string, Admitted>();
  private before = new Map<string, Admitted>();
  private readonly refused = new Map<string, Refused>();

  constructor(
    private readonly mostAdmitted = 50_000,
    private readonly mostRefused = 10_000,
  ) {}

  get size(): { admitted: number; refused: number } {
    return { admitted: this.admitted.size + this.before.size, refused: this.refused.size };
  }

  get(fingerprint: string): KeyVerdict | undefined {
    const known = this.admitted.get(fingerprint) ?? this.takenFromBefore(fingerprint);
    if (known !== undefined) return known;
    const refused = this.refused.get(fingerprint);
    if (refused === undefined || refused.until > monotonicMs()) return refused?.problem;
    this.refused.delete(fingerprint);
    return undefined;
  }

  put(fingerprint: string, verdict: KeyVerdict): void {
    if (verdict instanceof Error) {
      makeRoom(this.refused, this.mostRefused);
      this.refused.set(fingerprint, { problem: verdict, until: monotonicMs() + REFUSED_MS });
    } else {
      this.before.delete(fingerprint);
      this.admit(fingerprint, verdict);
    }
  }

  /** Drops all keys that a change may affect. Refusals carry no ids, so all of them are dropped. */
  forget(change: KeyChange | null): void {
    this.refused.clear();
    for (const half of [this.admitted, this.before]) {
      if (change === null) half.clear();
      else
        for (const [fingerprint, { caller }] of half) if (concerns(change, caller)) half.delete(fingerprint);
    }
  }

  private takenFromBefore(fingerprint: string): Admitted | undefined {
    const known = this.before.get(fingerprint);
    if (known === undefined) return undefined;
    this.before.delete(fingerprint);
    this.admit(fingerprint, known);
    return known;
  }

  private admit(fingerprint: string, verdict: Admitted): void {
    if (this.admitted.size >= this.mostAdmitted / 2) {
      this.before = this.admitted;
      this.admitted = new Map();
    }
    this.admitted.set(fingerprint, verdict);
  }
}

function makeRoom(map: Map<string, unknown>, most: number): void {
  if (map.size < most) return;
  const oldest = map.keys().next();
  if (!oldest.done) map.delete(oldest.value);
}
