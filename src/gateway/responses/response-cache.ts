import { MINUTE_MS, monotonicMs } from '../../kernel';
import { type NewStoredResponse, sizeOf } from './response-store';

interface ResponseCacheEntry {
  readonly response: NewStoredResponse;
  readonly size: number;
  readonly until: number;
}

const MAX_CACHE_BYTES = 64 * 1024 * 1024;
/** The next turn of a conversation usually follows within minutes; content is evicted after this time. */
const MAX_AGE_MS = 10 * MINUTE_MS;

/** The newest responses of this node, so that the next turn needs no database, even during an outage. */
export class ResponseCache {
  private readonly entries = new Map<string, ResponseCacheEntry>();
  private readonly items = new Map<string, string>();
  private bytes = 0;

  constructor(
    private readonly maxBytes = MAX_CACHE_BYTES,
    private readonly now = monotonicMs,
  ) {}

  add(newResponse: NewStoredResponse): void {
    const { keyId, responseId, itemIds, answer, input } = newResponse;
    this.remove(keyId, responseId);
    const size = sizeOf(answer, input);
    if (size > this.maxBytes) return;
    const key = cacheKey(keyId, responseId);
    this.entries.set(key, { response: newResponse, size, until: this.now() + MAX_AGE_MS });
    for (const id of itemIds) this.items.set(cacheKey(keyId, id), key);
    this.bytes += size;
    this.evict();
  }

  response(keyId: number, responseId: string): NewStoredResponse | undefined {
    return this.findUnexpired(cacheKey(keyId, responseId));
  }

  withItem(keyId: number, itemId: string): NewStoredResponse | undefined {
    const key = this.items.get(cacheKey(keyId, itemId));
    return key === undefined ? undefined : this.findUnexpired(key);
  }

  remove(keyId: number, responseId: string): void {
    const key = cacheKey(keyId, responseId);
    const entry = this.entries.get(key);
    if (entry === undefined) return;
    this.entries.delete(key);
    this.bytes -= entry.size;
    for (const id of entry.response.itemIds) {
      const itemKey = cacheKey(keyId, id);
      if (this.items.get(itemKey) === key) this.items.delete(itemKey);
    }
  }

  clear(): void {
    this.entries.clear();
    this.items.clear();
    this.bytes = 0;
  }

  private findUnexpired(key: string): NewStoredResponse | undefined {
    const entry = this.entries.get(key);
    return entry !== undefined && entry.until > this.now() ? entry.response : undefined;
  }

  private evict(): void {
    const now = this.now();
    for (const { response: kept, until } of this.entries.values()) {
      if (this.bytes <= this.maxBytes && until > now) return;
      this.remove(kept.keyId, kept.responseId);
    }
  }
}

const cacheKey = (keyId: number, id: string): string => `${keyId} ${id}`;
