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
 * What is known of keys, by a hash of their whole text: two keys with a common beginning never share an identity, and
 * the memory of the process holds no list of secrets. Both halves are bounded, so that a flood of made-up keys pushes
 * out other made-up keys and nothing else.
 */
export class KeyCache {
  /** Two halves: what is used goes to the newer one, and the older one goes when that is full. */
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

  /** Forgets every key that a change may concern. Refusals say too little of themselves to be told apart. */
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
