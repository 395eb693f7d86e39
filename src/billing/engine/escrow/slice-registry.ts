import { type LimitRef, scopeKey } from '../../scope';
import type { SpendingWindow } from '../store/money-store';
import { Slice } from './slice';

/** The slices of the current lease: by scope for new requests, by window for those that still settle. */
export class SliceRegistry {
  private readonly byScope = new Map<number, Slice>();
  private readonly byWindow = new Map<string, Slice>();
  /** Slices of windows that continue under the same id with another end. */
  private readonly superseded = new Set<Slice>();

  /** Returns the slice for new holds of a scope; undefined once its window has ended. */
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

  /** Returns the slice of a scope's window; creates one when the scope has moved to another window. */
  open(ref: LimitRef, window: SpendingWindow | null, elapsed: number): Slice {
    const current = this.byScope.get(scopeKey(ref));
    if (current !== undefined && isSame(current.window, window)) return current;
    if (current !== undefined) current.isRetired = true;
    const existing = window === null ? undefined : this.byWindow.get(window.id);
    if (existing !== undefined && !isSame(existing.window, window)) this.superseded.add(existing);
    const slice =
      existing === undefined || this.superseded.has(existing) ? new Slice(ref, window, elapsed) : existing;
    slice.isRetired = false;
    this.byScope.set(slice.key, slice);
    if (window !== null) this.byWindow.set(window.id, slice);
    return slice;
  }

  /** Forgets the current window of a scope. What the slice holds stays until it is settled. */
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
    if (!this.superseded.delete(slice) && slice.window !== null) this.byWindow.delete(slice.window.id);
  }

  lapse(): void {
    for (const slice of this.all()) slice.hasLapsed = true;
    this.byScope.clear();
    this.byWindow.clear();
    this.superseded.clear();
  }

  *all(): Iterable<Slice> {
    yield* this.byWindow.values();
    yield* this.superseded;
    for (const slice of this.byScope.values()) if (slice.window === null) yield slice;
  }
}

const isSame = (one: SpendingWindow | null, other: SpendingWindow | null): boolean =>
  one?.id === other?.id && one?.endsAt === other?.endsAt;
