import { listOf, objectOf, textOf, type JsonObject } from '../json';

/** Stored output item and the id of the reasoning item it requires. */
export interface StoredItem {
  readonly item: JsonObject;
  readonly reasoning: string | undefined;
}

/** Everything stored for one key. */
export interface KeyResponses {
  /** Complete conversation up to and including a response. */
  conversation(responseId: string): readonly JsonObject[] | undefined;
  item(itemId: string): StoredItem | undefined;
}

export const noStoredResponses: KeyResponses = { conversation: () => undefined, item: () => undefined };

const MAX_ENTRIES = 5_000;

/** Stores the latest responses of each key, unless the request set `store: false`. */
export class SimulatedResponseStore {
  private readonly conversations = new Map<string, readonly JsonObject[]>();
  private readonly items = new Map<string, StoredItem>();

  of(key: string): KeyResponses {
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
  if (map.size <= MAX_ENTRIES) return;
  const oldest = map.keys().next().value;
  if (oldest !== undefined) map.delete(oldest);
}
