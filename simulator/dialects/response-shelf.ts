import { listOf, objectOf, textOf, type JsonObject } from '../json';

/** An output item that was stored, and the reasoning item it must not be parted from. */
export interface StoredItem {
  readonly item: JsonObject;
  readonly reasoning: string | undefined;
}

/** One key has stored these. */
export interface Stored {
  /** The whole conversation up to and with a response. */
  conversation(responseId: string): readonly JsonObject[] | undefined;
  item(itemId: string): StoredItem | undefined;
}

export const nothingStored: Stored = { conversation: () => undefined, item: () => undefined };

const mostEntries = 5_000;

/** Responses that were not asked not to be stored, for each key the latest. */
export class ResponseShelf {
  private readonly conversations = new Map<string, readonly JsonObject[]>();
  private readonly items = new Map<string, StoredItem>();

  of(key: string): Stored {
    return {
      conversation: (id) => this.conversations.get(`${key} ${id}`),
      item: (id) => this.items.get(`${key} ${id}`),
    };
  }

  store(key: string, input: readonly JsonObject[], response: JsonObject): void {
    const output = listOf(response['output']).map(objectOf);
    put(this.conversations, `${key} ${textOf(response['id'])}`, [...input, ...output]);
    let reasoning: string | undefined;
    for (const item of output) {
      put(this.items, `${key} ${textOf(item['id'])}`, { item, reasoning });
      reasoning = item['type'] === 'reasoning' ? textOf(item['id']) : undefined;
    }
  }
}

function put<T>(map: Map<string, T>, name: string, value: T): void {
  map.delete(name);
  map.set(name, value);
  if (map.size <= mostEntries) return;
  const oldest = map.keys().next().value;
  if (oldest !== undefined) map.delete(oldest);
}
