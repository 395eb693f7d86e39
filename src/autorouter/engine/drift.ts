const WINDOW = 500;
const MIN_REQUESTS = 100;
const RAISED_SHARE = 0.4;
const REFERENCE_SHARE = 0.5;

/** `raised`: more caution and more sampling. At `reference` only the reference model answers. */
export type DriftLevel = 'calm' | 'raised' | 'reference';

/** Which of the last requests of an organisation were unfamiliar, as a ring buffer. */
export interface Drift {
  readonly unfamiliar: Uint8Array;
  next: number;
  requests: number;
  sum: number;
}

export const noDrift = (): Drift => ({ unfamiliar: new Uint8Array(WINDOW), next: 0, requests: 0, sum: 0 });

export function noteFamiliarity(drift: Drift, unfamiliar: boolean): void {
  const counted = unfamiliar ? 1 : 0;
  drift.sum += counted - (drift.unfamiliar[drift.next] ?? 0);
  drift.unfamiliar[drift.next] = counted;
  drift.next = (drift.next + 1) % WINDOW;
  drift.requests = Math.min(WINDOW, drift.requests + 1);
}

export function driftLevel({ requests, sum }: Drift): DriftLevel {
  if (requests < MIN_REQUESTS) return 'calm';
  const share = sum / requests;
  return share > REFERENCE_SHARE ? 'reference' : share > RAISED_SHARE ? 'raised' : 'calm';
}
