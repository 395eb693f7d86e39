import { type LimitRef, scopeKey } from '../../scope';
import type { Window } from '../store/money-store';
import { Slice } from './slice';

/** The slices of the present lease: by scope for the next request, by window for those that still settle. */
export class SliceBook {
  private readonly byScope = new Map<number, Slice>();
  private readonly byWindow = new Map<string, Slice>();
  /** Slices of windows that continue under the same id with another end. */
  private readonly earlier = new Set<Slice>();

  /** The slice for new holds of a scope; none once its window has ended. */
  current(ref: LimitRef, now: number): Slice | undefined {
    const slice = this.byScope.get(scopeKey(ref));
    if (slice === undefined) return undefined;
    return slice.window !== null && now >= slice.window.endsAt ? undefined : slice;
  }

  at(key: number): Slice | undefined {
    return this.byScope.get(key);
  }

  ofWindow(id: string): Slice | undefined {
    return this.byWindow.get(id);
  }

  /** The slice of a scope's window, a new one when the scope moved on to another window. */
  open(ref: LimitRef, window: Window | null, elapsed: number): Slice {
    const before = this.byScope.get(scopeKey(ref));
    if (before !== undefined && isSame(before.window, window)) return before;
    if (before !== undefined) before.isRetired = true;
    const known = window === null ? undefined : this.byWindow.get(window.id);
    if (known !== undefined && !isSame(known.window, window)) this.earlier.add(known);
    const slice = known === undefined || this.earlier.has(known) ? new Slice(ref, window, elapsed) : known;
    slice.isRetired = false;
    this.byScope.set(slice.key, slice);
    if (window !== null) this.byWindow.set(window.id, slice);
    return slice;
  }

  /** Forgets which window the scope is in; what the slice holds lives on until it is settled. */
  retire(key: number): Slice | undefined {
    const slice = this.byScope.get(key);
    if (slice !== undefined) slice.isRetired = true;
    this.byScope.delete(key);
    return slice;
  }

  isCurrent(slice: Slice): boolean {
    return this.byScope.get(slice.key) === slice;
  }

  drop(slice: Slice): void {
    if (this.isCurrent(slice)) this.byScope.delete(slice.key);
    if (!this.earlier.delete(slice) && slice.window !== null) this.byWindow.delete(slice.window.id);
  }

  /** The lease is gone, and everything that was drawn under it. */
  lapse(): void {
    for (const slice of this.all()) slice.lapsed = true;
    this.byScope.clear();
    this.byWindow.clear();
    this.earlier.clear();
  }

  *all(): Iterable<Slice> {
    yield* this.byWindow.values();
    yield* this.earlier;
    for (const slice of this.byScope.values()) if (slice.window === null) yield slice;
  }
}

const isSame = (one: Window | null, other: Window | null): boolean =>
  one?.id === other?.id && one?.endsAt === other?.endsAt;
