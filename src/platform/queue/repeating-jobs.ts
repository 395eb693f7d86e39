import { setTimeout as delay } from 'node:timers/promises';
import {
  type BeforeApplicationShutdown,
  Global,
  Injectable,
  Module,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
} from '@nestjs/common';
import { monotonicMs, uuidv7 } from '../../kernel';
import { Settings } from '../config';
import { ClockWatch, Database } from '../database';
import { HooksModule, HooksService } from '../hooks';
import { Logger } from '../logging';
import { Metrics } from '../metrics';
import { Telemetry } from '../telemetry';
import { deadlineOf, type JobClaim, type JobRow, JobRows, LATE_AFTER_MS } from './job-rows';
import { type RegisteredJob, RepeatingJob } from './repeating-job';

/** Also how long a job waits that another node has released. */
const MAX_PAUSE_MS = 1_000;
const MIN_PAUSE_MS = 250;
/** A long job must not delay the others, and running all at once would burden the node. */
const MAX_CONCURRENT = 3;
const MAX_CONCURRENT_FOREIGN = 2;
/** Name that distinguishes these jobs from those of queues in metrics and the log. */
const QUEUE = 'upkeep';

/** Runs the methods marked as repeating jobs, each on one node at a time, when their rows are due. */
@Injectable()
export class RepeatingJobs implements OnApplicationBootstrap, OnModuleDestroy, BeforeApplicationShutdown {
  private readonly jobs = new Map<string, RegisteredJob>();
  private readonly running = new Map<string, Promise<void>>();
  /** Time since when a job is due and no node runs it. */
  private readonly dueSince = new Map<string, number>();
  /** Rows still to be written, by the id of their claim. No node runs such a job before its row is written. */
  private readonly pendingWrites = new Map<string, () => Promise<void>>();
  private readonly stopping = new AbortController();
  private readonly rows: JobRows;
  private pollLoop?: Promise<void>;
  private polledAt = Infinity;
  private isAnnounced = false;
  private isUnavailable = false;

  constructor(
    database: Database,
    private readonly clock: ClockWatch,
    private readonly hooks: HooksService,
    private readonly settings: Settings,
    private readonly metrics: Metrics,
    private readonly telemetry: Telemetry,
    private readonly logger: Logger,
  ) {
    this.rows = new JobRows(database);
  }

  onApplicationBootstrap(): void {
    for (const { options, handler } of this.hooks.registrationsOf(RepeatingJob)) {
      this.add({ ...options, run: handler });
    }
  }

  onModuleDestroy(): void {
    this.stopping.abort();
  }

  /** The database and everything else that a running job needs is still available. */
  async beforeApplicationShutdown(): Promise<void> {
    const ended = Promise.allSettled([this.pollLoop, ...this.running.values()]);
    await Promise.race([ended, delay(this.settings.drainTimeoutMs, undefined, { ref: false })]);
  }

  start(): void {
    if (this.settings.workers === 'off') return;
    this.polledAt = monotonicMs();
    this.pollLoop = this.keepPolling();
  }

  get names(): string[] {
    return [...this.jobs.keys()];
  }

  /** Runs a job now, whatever its schedule. */
  async run(name: string): Promise<void> {
    const job = this.jobs.get(name);
    if (job === undefined) throw new Error(`no repeating job is called ${name}`);
    const timeout = AbortSignal.timeout(deadlineOf(job));
    await this.telemetry.trace(`job ${name}`, { 'switchboard.job.name': name }, () =>
      job.run(AbortSignal.any([timeout, this.stopping.signal])),
    );
  }

  /**
   * Jobs that this node should have run and did not. Failing jobs, and those waiting for an accurate clock, are
   * reported elsewhere: a restart of this node would not help.
   */
  get stuck(): string[] {
    const now = monotonicMs();
    const ownJobs = this.names.filter((name) => this.jobs.get(name)?.isForeign !== true);
    if (now - this.polledAt > LATE_AFTER_MS) return ownJobs;
    return ownJobs.filter((name) => now - (this.dueSince.get(name) ?? now) > LATE_AFTER_MS);
  }

  /** Must be called before the start; jobs of providers are added automatically. */
  add(job: RegisteredJob): void {
    if (this.jobs.has(job.name)) throw new Error(`two repeating jobs are called ${job.name}`);
    this.jobs.set(job.name, job);
  }

  private async keepPolling(): Promise<void> {
    const { signal } = this.stopping;
    for (let pause = 0; await delay(pause, true, { signal, ref: false }).catch(() => false);) {
      try {
        pause = await this.poll();
        this.isUnavailable = false;
      } catch (error) {
        pause = MAX_PAUSE_MS;
        this.dueSince.clear();
        if (!this.isUnavailable) this.logger.warn('repeating jobs cannot be looked up', { error });
        this.isUnavailable = true;
      }
      this.polledAt = monotonicMs();
    }
  }

  /** Returns the time until the next poll. */
  private async poll(): Promise<number> {
    if (!this.isAnnounced) await this.announce([...this.jobs.values()]);
    for (const [id, write] of this.pendingWrites) {
      await write();
      this.pendingWrites.delete(id);
    }
    const rows = await this.rows.read(this.names);
    // A node of another version might have removed rows that it does not know.
    const missing = [...this.jobs.values()].filter(({ name }) => !rows.some((row) => row.name === name));
    if (missing.length > 0) await this.announce(missing);
    this.noteDueJobs(rows);
    let pause = MAX_PAUSE_MS;
    for (const { name, dueInMs, isClaimed } of rows) {
      if (dueInMs <= 0 && !isClaimed) await this.tryRun(this.jobs.get(name)!);
      else if (dueInMs > 0) pause = Math.min(pause, dueInMs);
    }
    return Math.max(pause, MIN_PAUSE_MS);
  }

  private async announce(jobs: readonly RegisteredJob[]): Promise<void> {
    await this.rows.announce(jobs);
    await this.rows.forget(this.names);
    if (!this.isAnnounced) await this.rows.makeDue(jobs.filter(({ isDueAtStart }) => isDueAtStart === true));
    this.isAnnounced = true;
  }

  private noteDueJobs(rows: readonly JobRow[]): void {
    const now = monotonicMs();
    for (const { name, dueInMs, isClaimed, succeededAt, succeedBy } of rows) {
      if (dueInMs > 0 || isClaimed || !this.clock.isRight) this.dueSince.delete(name);
      else if (!this.dueSince.has(name)) this.dueSince.set(name, now);
      if (succeededAt !== null) this.metrics.jobSuccess.set({ job: name }, succeededAt.getTime() / 1_000);
      this.metrics.jobSuccessDue.set({ job: name }, succeedBy.getTime() / 1_000);
    }
  }

  private async tryRun(job: RegisteredJob): Promise<void> {
    if (!this.clock.isRight || this.running.has(job.name) || !this.hasSlotFor(job)) return;
    const id = uuidv7();
    // If the response is lost, a possible claim is released.
    this.pendingWrites.set(id, () => this.rows.release(job, { id }));
    const claim = await this.rows.claim(job, id);
    this.pendingWrites.delete(id);
    if (claim === undefined) return;
    const run = this.runClaimed(job, claim).finally(() => this.running.delete(job.name));
    this.running.set(job.name, run);
  }

  private hasSlotFor({ isForeign }: RegisteredJob): boolean {
    const similar = [...this.running.keys()].filter((name) => this.jobs.get(name)?.isForeign === isForeign);
    return similar.length < (isForeign === true ? MAX_CONCURRENT_FOREIGN : MAX_CONCURRENT);
  }

  private async runClaimed(job: RegisteredJob, claim: JobClaim): Promise<void> {
    const error = await this.run(job.name).then(
      () => undefined,
      (reason: unknown) => reason ?? new Error('failed without a reason'),
    );
    const write = (): Promise<void> => this.writeEnd(job, claim, error === undefined);
    if (!this.stopping.signal.aborted) {
      this.metrics.jobs.inc({ queue: QUEUE, outcome: error === undefined ? 'completed' : 'failed' });
      if (error !== undefined)
        this.logger.warn('job failed, will be repeated', { queue: QUEUE, job: job.name, error });
    }
    try {
      await write();
    } catch (reason) {
      // The next poll writes the row. Otherwise the claim expires, and the job runs once more.
      this.pendingWrites.set(claim.id, write);
      this.logger.warn('the end of a job could not be written', { job: job.name, error: reason });
    }
  }

  private writeEnd(job: RegisteredJob, claim: JobClaim, hasSucceeded: boolean): Promise<void> {
    if (this.stopping.signal.aborted) return this.rows.release(job, claim);
    return hasSucceeded ? this.rows.markSucceeded(job, claim) : this.rows.markFailed(job, claim);
  }
}

@Global()
@Module({ imports: [HooksModule], providers: [RepeatingJobs], exports: [RepeatingJobs] })
export class RepeatingJobsModule {}
