import { RefusedByStore } from '../store/money-store';

/**
 * Settles all entries. When the database rejects their contents, the list is halved until only invalid entries are
 * left, so one invalid record never blocks the others.
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
    const [single] = entries;
    if (entries.length === 1 && single !== undefined) return refuse(single, error);
    const middle = Math.ceil(entries.length / 2);
    await settleSplitting(entries.slice(0, middle), settle, refuse);
    await settleSplitting(entries.slice(middle), settle, refuse);
  }
}
