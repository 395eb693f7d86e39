import { MINUTE_MS, monotonicMs } from '../../kernel';
import { type FreshResponse, sizeOf } from './response-store';

interface Entry {
  readonly kept: FreshResponse;
  readonly size: number;
  readonly until: number;
}

const MOST_BYTES = 64 * 1024 * 1024;
/** The next turn of a conversation usually follows within minutes; content leaves the memory after that. */
const KEPT_MS = 10 * MINUTE_MS;

/** The newest answers of this node: the next turn finds them without the database, also during an outage. */
export class ResponseCache {
  private readonly entries = new Map<string, Entry>();
  /** The answer that contains an item. */
  private readonly items = new Map<string, string>();
  private bytes = 0;

  constructor(
    private readonly mostBytes = MOST_BYTES,
    private readonly now = monotonicMs,
  ) {}

  add(kept: FreshResponse): void {
    const { keyId, responseId, itemIds, answer, input } = kept;
    this.remove(keyId, responseId);
    const size = sizeOf(answer, input);
    if (size > this.mostBytes) return;
    const place = placeOf(keyId, responseId);
    this.entries.set(place, { kept, size, until: this.now() + KEPT_MS });
    for (const id of itemIds) this.items.set(placeOf(keyId, id), place);
    this.bytes += size;
    this.shrink();
  }

  response(keyId: number, responseId: string): FreshResponse | undefined {
    return this.live(placeOf(keyId, responseId));
  }

  withItem(keyId: number, itemId: string): FreshResponse | undefined {
    const place = this.items.get(placeOf(keyId, itemId));
    return place === undefined ? undefined : this.live(place);
  }

  remove(keyId: number, responseId: string): void {
    const place = placeOf(keyId, responseId);
    const entry = this.entries.get(place);
    if (entry === undefined) return;
    this.entries.delete(place);
    this.bytes -= entry.size;
    for (const id of entry.kept.itemIds) {
      const item = placeOf(keyId, id);
      if (this.items.get(item) === place) this.items.delete(item);
    }
  }

  clear(): void {
    this.entries.clear();
    this.items.clear();
    this.bytes = 0;
  }

  private live(place: string): FreshResponse | undefined {
    const entry = this.entries.get(place);
    return entry !== undefined && entry.until > this.now() ? entry.kept : undefined;
  }

  /** The oldest leave first; they also expire first. */
  private shrink(): void {
    const now = this.now();
    for (const { kept, until } of this.entries.values()) {
      if (this.bytes <= this.mostBytes && until > now) return;
      this.remove(kept.keyId, kept.responseId);
    }
  }
}

const placeOf = (keyId: number, id: string): string => `${keyId} ${id}`;
