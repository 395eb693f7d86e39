import type { Database, Tx } from '../../platform';

class DryRun<T> extends Error {
  constructor(readonly result: T) {
    super('rolled back');
  }
}

/**
 * Runs the work in one transaction, then commits or rolls back. A dry run therefore passes every check of the real run.
 */
export async function applyOrDryRun<T>(
  database: Database,
  commit: boolean,
  work: (tx: Tx) => Promise<T>,
): Promise<T> {
  try {
    return await database.transaction(async (tx) => {
      const result = await work(tx);
      if (!commit) throw new DryRun(result);
      return result;
    });
  } catch (error) {
    if (error instanceof DryRun) return (error as DryRun<T>).result;
    throw error;
  }
}
