import { defaultRepeatStrategy } from 'bullmq';
import { MINUTE_MS, withDeadline } from '../../kernel';
import type { Database, TableRow } from '../database';
import type { RegisteredJob } from './repeating-job';

const DEFAULT_DEADLINE_MS = MINUTE_MS;
/** How long a job can take to end after its signal before another node can run it. */
const GRACE_MS = 30_000;
/**
 * Delay after which a job is reported: longer than a restart, shorter than anything that depends on the job can wait.
 */
export const LATE_AFTER_MS = 15 * MINUTE_MS;
const INITIAL_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 5 * MINUTE_MS;
/** A job that is overdue for this long is no longer run by any version. */
const FORGOTTEN_AFTER = '30 days';
const RESPONSE_TIMEOUT_MS = 10_000;

export type JobRow = TableRow<'repeating_job', 'name, cron, succeeded_at, succeed_by'> & {
  /** Negative if the job is due. */
  readonly dueInMs: number;
  readonly isClaimed: boolean;
};

/** A run that only this node has. */
export interface JobClaim {
  readonly id: string;
  /** Time of the database's clock. */
  readonly now: number;
}

export const deadlineOf = ({ deadlineMs = DEFAULT_DEADLINE_MS }: RegisteredJob): number => deadlineMs;

/** Due times of repeating jobs, in rows and by the database's clock: neither a queue nor a node's clock decides. */
export class JobRows {
  constructor(private readonly database: Database) {}

  /** Sorted by due time: jobs that hang must not keep another from its turn. */
  read(names: readonly string[]): Promise<JobRow[]> {
    return this.query<JobRow>(
      `SELECT name, cron, (extract(epoch FROM due_at - now()) * 1000)::float8 AS "dueInMs",
              claimed_until > now() IS TRUE AS "isClaimed", succeeded_at AS "succeededAt", succeed_by AS "succeedBy"
         FROM repeating_job WHERE name = ANY($1) ORDER BY due_at, name`,
      [names],
    );
  }

  /** Announcing a job again changes nothing; a new schedule replaces the old one. */
  async announce(jobs: readonly RegisteredJob[]): Promise<void> {
    const now = await this.now();
    const next = jobs.map((job) => nextDueAt(job, now));
    await this.query(
      `INSERT INTO repeating_job AS r (name, cron, due_at, succeed_by)
       SELECT name, cron, to_timestamp(due / 1000), to_timestamp(late / 1000)
         FROM unnest($1::text[], $2::text[], $3::float8[], $4::float8[]) AS j (name, cron, due, late) ORDER BY name
       ON CONFLICT (name) DO UPDATE
          SET cron = excluded.cron, due_at = excluded.due_at, succeed_by = excluded.succeed_by
        WHERE r.cron <> excluded.cron`,
      [
        jobs.map(({ name }) => name),
        jobs.map(({ cron }) => cron),
        next,
        jobs.map((job, index) => lateAt(job, next[index]!)),
      ],
    );
  }

  async makeDue(jobs: readonly RegisteredJob[]): Promise<void> {
    if (jobs.length === 0) return;
    await this.query('UPDATE repeating_job SET due_at = now() WHERE name = ANY($1) AND due_at > now()', [
      jobs.map(({ name }) => name),
    ]);
  }

  /** Removes jobs that no version runs any more, and those left by extensions, which announce theirs again. */
  async forget(knownNames: readonly string[]): Promise<void> {
    await this.query(
      `DELETE FROM repeating_job
        WHERE name <> ALL($1) AND (due_at < now() - interval '${FORGOTTEN_AFTER}' OR name LIKE '%/%')`,
      [knownNames],
    );
  }

  /**
   * Undefined if another node was first; a claim expires if this process is killed. The caller creates the id, so that
   * it can release a claim whose response was lost.
   */
  async claim(job: RegisteredJob, id: string): Promise<JobClaim | undefined> {
    const [claim] = await this.query<JobClaim>(
      `WITH claimed AS (
         UPDATE repeating_job SET claim = $3, claimed_until = now() + $2 * interval '1 millisecond'
          WHERE name = $1 AND due_at <= now() AND claimed_until > now() IS NOT TRUE RETURNING claim)
       SELECT claim AS id, (extract(epoch FROM now()) * 1000)::float8 AS now FROM claimed`,
      [job.name, deadlineOf(job) + GRACE_MS, id],
    );
    return claim;
  }

  async markSucceeded(job: RegisteredJob, { id, now }: JobClaim): Promise<void> {
    const next = nextDueAt(job, now);
    await this.query(
      `UPDATE repeating_job SET claim = NULL, claimed_until = NULL, failures = 0, succeeded_at = now(),
              due_at = to_timestamp($3::float8 / 1000), succeed_by = to_timestamp($4::float8 / 1000)
        WHERE name = $1 AND claim = $2`,
      [job.name, id, next, lateAt(job, next)],
    );
  }

  /** Retried after a pause that doubles, but no later than its next scheduled time. */
  async markFailed(job: RegisteredJob, { id, now }: JobClaim): Promise<void> {
    const pause = `least(${INITIAL_PAUSE_MS} * 2.0 ^ least(failures, 20), ${MAX_PAUSE_MS}) * interval '1 millisecond'`;
    await this.query(
      `UPDATE repeating_job SET claim = NULL, claimed_until = NULL, failures = failures + 1,
              due_at = least(to_timestamp($3::float8 / 1000), now() + ${pause})
        WHERE name = $1 AND claim = $2`,
      [job.name, id, nextDueAt(job, now)],
    );
  }

  /** The run was interrupted or never started: another node takes it immediately. */
  async release(job: RegisteredJob, { id }: Pick<JobClaim, 'id'>): Promise<void> {
    await this.query(
      'UPDATE repeating_job SET claim = NULL, claimed_until = NULL WHERE name = $1 AND claim = $2',
      [job.name, id],
    );
  }

  private async now(): Promise<number> {
    const [row] = await this.query<{ now: number }>(
      'SELECT (extract(epoch FROM now()) * 1000)::float8 AS now',
    );
    return row!.now;
  }

  private query<Row>(sql: string, parameters: unknown[] = []): Promise<Row[]> {
    return withDeadline(RESPONSE_TIMEOUT_MS, this.database.query<Row>(sql, parameters));
  }
}

/** Describes why a text is no valid schedule; null if it is valid. */
export function cronProblem(cron: string): string | null {
  try {
    return nextTime(cron, Date.now()) === undefined ? 'it has no next time' : null;
  } catch (error) {
    return (error as Error).message;
  }
}

const nextTime = (cron: string, now: number): number | undefined =>
  defaultRepeatStrategy(now, { pattern: cron, tz: 'UTC' });

function nextDueAt({ name, cron }: RegisteredJob, now: number): number {
  const next = nextTime(cron, now);
  if (next === undefined) throw new Error(`the repeating job ${name} has no next time: ${cron}`);
  return next;
}

const lateAt = (job: RegisteredJob, due: number): number => due + deadlineOf(job) + LATE_AFTER_MS;
