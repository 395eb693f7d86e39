import { defaultRepeatStrategy } from 'bullmq';
import { MINUTE_MS, withDeadline } from '../../kernel';
import type { Database, Row } from '../database';
import type { RegisteredJob } from './repeating-job';

const USUAL_DEADLINE_MS = MINUTE_MS;
/** A job may take so long to end after its signal before another node may run it. */
const GRACE_MS = 30_000;
/** A job that is later than this is told: longer than a restart, shorter than anything that depends on it waits. */
export const LATE_AFTER_MS = 15 * MINUTE_MS;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 5 * MINUTE_MS;
/** So long after it was due, no node of any version knows a job. */
const FORGOTTEN_AFTER = '30 days';
const ANSWER_DEADLINE_MS = 10_000;

export type JobRow = Row<'repeating_job', 'name, cron, succeeded_at, succeed_by'> & {
  /** Negative when it is due. */
  readonly dueInMs: number;
  readonly isClaimed: boolean;
};

/** A run that no other node has. */
export interface JobClaim {
  readonly id: string;
  /** It is the time of the database's clock. */
  readonly now: number;
}

export const deadlineOf = ({ deadlineMs = USUAL_DEADLINE_MS }: RegisteredJob): number => deadlineMs;

/** When repeating jobs are due, in rows and by the database's clock: neither a queue nor a node's clock decides it. */
export class JobRows {
  constructor(private readonly database: Database) {}

  /** The one that has been due for the longest comes first: jobs that hang must not keep another from its place. */
  read(names: readonly string[]): Promise<JobRow[]> {
    return this.answer<JobRow>(
      `SELECT name, cron, (extract(epoch FROM due_at - now()) * 1000)::float8 AS "dueInMs",
              claimed_until > now() IS TRUE AS "isClaimed", succeeded_at AS "succeededAt", succeed_by AS "succeedBy"
         FROM repeating_job WHERE name = ANY($1) ORDER BY due_at, name`,
      [names],
    );
  }

  /** Saying it again changes nothing; a new time replaces the old. */
  async announce(jobs: readonly RegisteredJob[]): Promise<void> {
    const now = await this.now();
    const next = jobs.map((job) => nextOf(job, now));
    await this.answer(
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
        jobs.map((job, place) => lateOf(job, next[place]!)),
      ],
    );
  }

  async makeDue(jobs: readonly RegisteredJob[]): Promise<void> {
    if (jobs.length === 0) return;
    await this.answer('UPDATE repeating_job SET due_at = now() WHERE name = ANY($1) AND due_at > now()', [
      jobs.map(({ name }) => name),
    ]);
  }

  /** Removes what no version runs any more, and what extensions have left behind: these announce themselves again. */
  async forget(known: readonly string[]): Promise<void> {
    await this.answer(
      `DELETE FROM repeating_job
        WHERE name <> ALL($1) AND (due_at < now() - interval '${FORGOTTEN_AFTER}' OR name LIKE '%/%')`,
      [known],
    );
  }

  /**
   * It is undefined when another node was first. A claim ends by itself, should this process be killed. The caller
   * makes the id: when the answer is lost, it can still give back what it may have claimed.
   */
  async claim(job: RegisteredJob, id: string): Promise<JobClaim | undefined> {
    const [claim] = await this.answer<JobClaim>(
      `WITH claimed AS (
         UPDATE repeating_job SET claim = $3, claimed_until = now() + $2 * interval '1 millisecond'
          WHERE name = $1 AND due_at <= now() AND claimed_until > now() IS NOT TRUE RETURNING claim)
       SELECT claim AS id, (extract(epoch FROM now()) * 1000)::float8 AS now FROM claimed`,
      [job.name, deadlineOf(job) + GRACE_MS, id],
    );
    return claim;
  }

  async succeeded(job: RegisteredJob, { id, now }: JobClaim): Promise<void> {
    const next = nextOf(job, now);
    await this.answer(
      `UPDATE repeating_job SET claim = NULL, claimed_until = NULL, failures = 0, succeeded_at = now(),
              due_at = to_timestamp($3::float8 / 1000), succeed_by = to_timestamp($4::float8 / 1000)
        WHERE name = $1 AND claim = $2`,
      [job.name, id, next, lateOf(job, next)],
    );
  }

  /** It is tried again after a pause that doubles, at its next time at the latest. */
  async failed(job: RegisteredJob, { id, now }: JobClaim): Promise<void> {
    const pause = `least(${FIRST_PAUSE_MS} * 2.0 ^ least(failures, 20), ${LONGEST_PAUSE_MS}) * interval '1 millisecond'`;
    await this.answer(
      `UPDATE repeating_job SET claim = NULL, claimed_until = NULL, failures = failures + 1,
              due_at = least(to_timestamp($3::float8 / 1000), now() + ${pause})
        WHERE name = $1 AND claim = $2`,
      [job.name, id, nextOf(job, now)],
    );
  }

  /** The run was broken off or never began: another node does it at once. */
  async release(job: RegisteredJob, { id }: Pick<JobClaim, 'id'>): Promise<void> {
    await this.answer(
      'UPDATE repeating_job SET claim = NULL, claimed_until = NULL WHERE name = $1 AND claim = $2',
      [job.name, id],
    );
  }

  private async now(): Promise<number> {
    const [row] = await this.answer<{ now: number }>(
      'SELECT (extract(epoch FROM now()) * 1000)::float8 AS now',
    );
    return row!.now;
  }

  private answer<Row>(sql: string, parameters: unknown[] = []): Promise<Row[]> {
    return withDeadline(ANSWER_DEADLINE_MS, this.database.query<Row>(sql, parameters));
  }
}

/** What is wrong with a text that should say when a job runs; null where nothing is. */
export function cronProblem(cron: string): string | null {
  try {
    return nextTime(cron, Date.now()) === undefined ? 'it has no next time' : null;
  } catch (error) {
    return (error as Error).message;
  }
}

const nextTime = (cron: string, now: number): number | undefined =>
  defaultRepeatStrategy(now, { pattern: cron, tz: 'UTC' });

function nextOf({ name, cron }: RegisteredJob, now: number): number {
  const next = nextTime(cron, now);
  if (next === undefined) throw new Error(`the repeating job ${name} has no next time: ${cron}`);
  return next;
}

const lateOf = (job: RegisteredJob, due: number): number => due + deadlineOf(job) + LATE_AFTER_MS;
