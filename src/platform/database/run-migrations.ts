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
  /** `waits`: others are using the table and go first. */
  readonly step: 'begins' | 'waits' | 'continues' | 'done';
  readonly migration: string;
  readonly number: number;
  readonly of: number;
  readonly milliseconds: number;
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

/** While a statement waits for a lock, all later statements wait as well. */
const LOCK_TIMEOUT_MS = 2_000;
const PAUSE_MS = 500;
const MAX_WAIT_MS = 10 * MINUTE_MS;
const REPORT_EVERY_MS = 1_000;
const LOCK_NOT_AVAILABLE = '55P03';
/** A migration of several tables can meet a node that locks them in another order. */
const DEADLOCK_DETECTED = '40P01';

/**
 * Runs pending migrations in list order, each in its own transaction. TypeORM would use the number in the name, and run
 * reloaded functions before what they reference.
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
  for (const [index, migration] of pending.entries()) {
    const startedMs = monotonicMs();
    const reportStep = (step: MigrationProgress['step'], progress: IndexProgress = {}): void =>
      report({
        step,
        migration: migration.name,
        number: index + 1,
        of: pending.length,
        milliseconds: Math.round(monotonicMs() - startedMs),
        ...progress,
      });
    // The first start runs all migrations within a second or two.
    if (!isNew) reportStep('begins');
    const finished = new AbortController();
    const progressReports = reportProgressUntil(source, finished.signal, (progress) =>
      reportStep('continues', progress),
    );
    try {
      await runOnce(source, migration, () => reportStep('waits'));
    } catch (cause) {
      throw new MigrationFailed(migration.name, cause as Error);
    } finally {
      finished.abort();
      await progressReports;
    }
    if (!isNew) reportStep('done');
  }
}

async function reportProgressUntil(
  source: DataSource,
  signal: AbortSignal,
  onProgress: (progress: IndexProgress) => void,
): Promise<void> {
  const nextInterval = (): Promise<boolean> =>
    delay(REPORT_EVERY_MS, true, { signal: signal }).catch(() => false);
  while (await nextInterval()) {
    const progress = await indexProgress(source).catch(() => ({}));
    if (!signal.aborted) onProgress(progress);
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

async function runOnce(source: DataSource, migration: PendingMigration, onWait: () => void): Promise<void> {
  const startedMs = monotonicMs();
  for (;;) {
    const runner = source.createQueryRunner();
    try {
      return await attempt(runner, source, migration);
    } catch (error) {
      const { code } = error as { code?: string };
      const isUndone = migration.instance?.transaction !== false;
      const isTransient = code === LOCK_NOT_AVAILABLE || (code === DEADLOCK_DETECTED && isUndone);
      if (!isTransient || monotonicMs() - startedMs > MAX_WAIT_MS) throw error;
    } finally {
      await runner.release();
    }
    onWait();
    await delay(PAUSE_MS);
  }
}

async function attempt(runner: QueryRunner, source: DataSource, migration: PendingMigration): Promise<void> {
  const executor = new MigrationExecutor(source, runner);
  // A migration outside a transaction must not be interrupted either.
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
