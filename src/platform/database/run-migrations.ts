import { setTimeout as delay } from 'node:timers/promises';
import {
  type DataSource,
  type Migration as PendingMigration,
  MigrationExecutor,
  type QueryRunner,
} from 'typeorm';
import { MINUTE_MS, monotonicMs } from '../../kernel';
import { MIGRATIONS_APPLICATION } from './data-source';

export interface MigrationProgress {
  /** `waits` means that others use the table, and come first. */
  readonly step: 'begins' | 'waits' | 'continues' | 'done';
  readonly migration: string;
  readonly number: number;
  readonly of: number;
  readonly milliseconds: number;
  /** What PostgreSQL says of an index that is built. */
  readonly phase?: string;
  readonly percent?: number;
}

type IndexProgress = Pick<MigrationProgress, 'phase' | 'percent'>;

export type ReportProgress = (progress: MigrationProgress) => void;

export class MigrationFailed extends Error {
  constructor(migration: string, cause: Error) {
    super(`The migration ${migration} failed: ${cause.message}`, { cause });
  }
}

/** While a statement waits for a lock, all who come after it wait as well. */
const LOCK_TIMEOUT_MS = 2_000;
const PAUSE_MS = 500;
const LONGEST_WAIT_MS = 10 * MINUTE_MS;
const REPORT_EVERY_MS = 1_000;
const LOCK_NOT_AVAILABLE = '55P03';
/** A migration of several tables can meet a node that takes them in another order. */
const DEADLOCK_DETECTED = '40P01';

/**
 * Runs what is pending in the order of the list, each in a transaction of its own. TypeORM would go by the number in the
 * name; the functions, which are loaded again when they change, have to come after what they name.
 */
export async function runMigrations(
  source: DataSource,
  order: readonly string[],
  report: ReportProgress,
): Promise<void> {
  const executor = new MigrationExecutor(source);
  const isNew = (await executor.getExecutedMigrations()).length === 0;
  const pending = await executor.getPendingMigrations();
  pending.sort((one, other) => order.indexOf(one.name) - order.indexOf(other.name));
  for (const [place, migration] of pending.entries()) {
    const startedMs = monotonicMs();
    const tell = (step: MigrationProgress['step'], progress: IndexProgress = {}): void =>
      report({
        step,
        migration: migration.name,
        number: place + 1,
        of: pending.length,
        milliseconds: Math.round(monotonicMs() - startedMs),
        ...progress,
      });
    // The first start makes everything within a second or two.
    if (!isNew) tell('begins');
    const over = new AbortController();
    const told = tellMeanwhile(source, over.signal, (progress) => tell('continues', progress));
    try {
      await runOnce(source, migration, () => tell('waits'));
    } catch (cause) {
      throw new MigrationFailed(migration.name, cause as Error);
    } finally {
      over.abort();
      await told;
    }
    if (!isNew) tell('done');
  }
}

async function tellMeanwhile(
  source: DataSource,
  over: AbortSignal,
  tell: (progress: IndexProgress) => void,
): Promise<void> {
  const second = (): Promise<boolean> => delay(REPORT_EVERY_MS, true, { signal: over }).catch(() => false);
  while (await second()) {
    const progress = await indexProgress(source).catch(() => ({}));
    if (!over.aborted) tell(progress);
  }
}

async function indexProgress(source: DataSource): Promise<IndexProgress> {
  const [row] = await source.query<{ phase: string; percent: number | null }[]>(
    `SELECT phase, floor(100.0 * CASE WHEN tuples_total > 0 THEN tuples_done::numeric / tuples_total
                                      WHEN blocks_total > 0 THEN blocks_done::numeric / blocks_total END)::integer AS percent
       FROM pg_stat_progress_create_index JOIN pg_stat_activity USING (pid, datname)
      WHERE datname = current_database() AND application_name = $1`,
    [MIGRATIONS_APPLICATION],
  );
  if (row === undefined) return {};
  return { phase: row.phase, ...(row.percent !== null && { percent: row.percent }) };
}

async function runOnce(source: DataSource, migration: PendingMigration, waits: () => void): Promise<void> {
  const startedMs = monotonicMs();
  for (;;) {
    const runner = source.createQueryRunner();
    try {
      return await attempt(runner, source, migration);
    } catch (error) {
      const { code } = error as { code?: string };
      const isUndone = migration.instance?.transaction !== false;
      const mayPass = code === LOCK_NOT_AVAILABLE || (code === DEADLOCK_DETECTED && isUndone);
      if (!mayPass || monotonicMs() - startedMs > LONGEST_WAIT_MS) throw error;
    } finally {
      await runner.release();
    }
    waits();
    await delay(PAUSE_MS);
  }
}

async function attempt(runner: QueryRunner, source: DataSource, migration: PendingMigration): Promise<void> {
  const executor = new MigrationExecutor(source, runner);
  // One that is not undone may not be broken off either.
  if (migration.instance?.transaction === false) return void (await executor.executeMigration(migration));
  await runner.startTransaction();
  try {
    await runner.query(`SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS}`);
    await executor.executeMigration(migration);
    await runner.commitTransaction();
  } catch (error) {
    await runner.rollbackTransaction().catch(() => undefined);
    throw error;
  }
}
