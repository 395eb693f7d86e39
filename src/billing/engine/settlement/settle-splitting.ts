import { RefusedByStore } from '../store/money-store';

/**
 * Settles all entries. When the database rejects one for its contents, the list is halved until only bad ones
 * are left. So one bad record never blocks the others.
 */
export async function settleSplitting<Entry>(
  entries: readonly Entry[],
  settle: (entries: readonly Entry[]) => Promise<void>,
  refuse: (entry: Entry, reason: Error) => void,
): Promise<void> {
  try {
    await settle(entries);
  } catch (error) {
    if (!(error instanceof RefusedByStore)) throw error;
    const [only] = entries;
    if (entries.length === 1 && only !== undefined) return refuse(only, error);
    const middle = Math.ceil(entries.length / 2);
    await settleSplitting(entries.slice(0, middle), settle, refuse);
    await settleSplitting(entries.slice(middle), settle, refuse);
  }
}
