import { setTimeout as delay } from 'node:timers/promises';
import {
  type BeforeApplicationShutdown,
  Global,
  Injectable,
  Module,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
} from '@nestjs/common';
import { DiscoveryModule, DiscoveryService } from '@nestjs/core';
import { monotonicMs, uuidv7 } from '../../kernel';
import { Settings } from '../config';
import { ClockWatch, Database } from '../database';
import { Logger } from '../logging';
import { Metrics } from '../metrics';
import { Telemetry } from '../telemetry';
import { deadlineOf, type JobClaim, type JobRow, JobRows, LATE_AFTER_MS } from './job-rows';
import { jobsOf, type RegisteredJob } from './repeating-job';

/** It is also how long a job waits that another node has let go. */
const LONGEST_PAUSE_MS = 1_000;
const SHORTEST_PAUSE_MS = 250;
/** A long job must not hold up the others; a node has better to do than to run all of them at once. */
const MOST_AT_ONCE = 3;
const MOST_FOREIGN_AT_ONCE = 2;
/** The name by which metrics and the log tell these jobs from those of queues. */
const QUEUE = 'upkeep';

/** Runs the methods that are marked as repeating jobs, each on one node at a time, when their rows say so. */
@Injectable()
export class RepeatingJobs implements OnApplicationBootstrap, OnModuleDestroy, BeforeApplicationShutdown {
  private readonly jobs = new Map<string, RegisteredJob>();
  private readonly running = new Map<string, Promise<void>>();
  /** A job has been due since then, and no node runs it. */
  private readonly dueSince = new Map<string, number>();
  /** Rows still to be written, by the id of their claim. No node runs such a job before its row is written. */
  private readonly unwritten = new Map<string, () => Promise<void>>();
  private readonly stopping = new AbortController();
  private readonly rows: JobRows;
  private looking?: Promise<void>;
  private lookedAt = Infinity;
  private announced = false;
  private away = false;

  constructor(
    database: Database,
    private readonly clock: ClockWatch,
    private readonly discovery: DiscoveryService,
    private readonly settings: Settings,
    private readonly metrics: Metrics,
    private readonly telemetry: Telemetry,
    private readonly logger: Logger,
  ) {
    this.rows = new JobRows(database);
  }

  onApplicationBootstrap(): void {
    const instances = new Set(this.discovery.getProviders().map((wrapper): unknown => wrapper.instance));
    for (const instance of instances) {
      if (typeof instance !== 'object' || instance === null) continue;
      for (const job of jobsOf(instance)) this.add(job);
    }
  }

  onModuleDestroy(): void {
    this.stopping.abort();
  }

  /** The database and all else that a running job needs is still there. */
  async beforeApplicationShutdown(): Promise<void> {
    const ended = Promise.allSettled([this.looking, ...this.running.values()]);
    await Promise.race([ended, delay(this.settings.drainTimeoutMs, undefined, { ref: false })]);
  }

  start(): void {
    if (this.settings.workers === 'off') return;
    this.lookedAt = monotonicMs();
    this.looking = this.keepLooking();
  }

  get names(): string[] {
    return [...this.jobs.keys()];
  }

  /** Runs a job now, whatever its row says. */
  async run(name: string): Promise<void> {
    const job = this.jobs.get(name);
    if (job === undefined) throw new Error(`no repeating job is called ${name}`);
    const late = AbortSignal.timeout(deadlineOf(job));
    await this.telemetry.within(`job ${name}`, { 'switchboard.job.name': name }, () =>
      job.run(AbortSignal.any([late, this.stopping.signal])),
    );
  }

  /**
   * The jobs that this node should have run and did not. What fails, or waits for a clock to be put right, is told
   * elsewhere: no restart of this node would help.
   */
  get stuck(): string[] {
    const now = monotonicMs();
    const own = this.names.filter((name) => this.jobs.get(name)?.isForeign !== true);
    if (now - this.lookedAt > LATE_AFTER_MS) return own;
    return own.filter((name) => now - (this.dueSince.get(name) ?? now) > LATE_AFTER_MS);
  }

  /** Before the start; jobs of providers come by themselves. */
  add(job: RegisteredJob): void {
    if (this.jobs.has(job.name)) throw new Error(`two repeating jobs are called ${job.name}`);
    this.jobs.set(job.name, job);
  }

  private async keepLooking(): Promise<void> {
    const { signal } = this.stopping;
    for (let pause = 0; await delay(pause, true, { signal, ref: false }).catch(() => false);) {
      try {
        pause = await this.look();
        this.away = false;
      } catch (error) {
        pause = LONGEST_PAUSE_MS;
        this.dueSince.clear();
        if (!this.away) this.logger.warn('repeating jobs cannot be looked up', { error });
        this.away = true;
      }
      this.lookedAt = monotonicMs();
    }
  }

  /** Returns how long there is nothing to do. */
  private async look(): Promise<number> {
    if (!this.announced) await this.announce([...this.jobs.values()]);
    for (const [id, write] of this.unwritten) {
      await write();
      this.unwritten.delete(id);
    }
    const rows = await this.rows.read(this.names);
    // A node of another version may have removed what it does not know.
    const missing = [...this.jobs.values()].filter(({ name }) => !rows.some((row) => row.name === name));
    if (missing.length > 0) await this.announce(missing);
    this.note(rows);
    let pause = LONGEST_PAUSE_MS;
    for (const { name, dueInMs, isClaimed } of rows) {
      if (dueInMs <= 0 && !isClaimed) await this.take(this.jobs.get(name)!);
      else if (dueInMs > 0) pause = Math.min(pause, dueInMs);
    }
    return Math.max(pause, SHORTEST_PAUSE_MS);
  }

  private async announce(jobs: readonly RegisteredJob[]): Promise<void> {
    await this.rows.announce(jobs);
    await this.rows.forget(this.names);
    if (!this.announced) await this.rows.makeDue(jobs.filter(({ isDueAtStart }) => isDueAtStart === true));
    this.announced = true;
  }

  private note(rows: readonly JobRow[]): void {
    const now = monotonicMs();
    for (const { name, dueInMs, isClaimed, succeededAt, succeedBy } of rows) {
      if (dueInMs > 0 || isClaimed || !this.clock.isRight) this.dueSince.delete(name);
      else if (!this.dueSince.has(name)) this.dueSince.set(name, now);
      if (succeededAt !== null) this.metrics.jobSuccess.set({ job: name }, succeededAt.getTime() / 1_000);
      this.metrics.jobSuccessDue.set({ job: name }, succeedBy.getTime() / 1_000);
    }
  }

  private async take(job: RegisteredJob): Promise<void> {
    if (!this.clock.isRight || this.running.has(job.name) || !this.hasPlaceFor(job)) return;
    const id = uuidv7();
    // Where the answer is lost, what may have been claimed is given back.
    this.unwritten.set(id, () => this.rows.release(job, { id }));
    const claim = await this.rows.claim(job, id);
    this.unwritten.delete(id);
    if (claim === undefined) return;
    const run = this.runClaimed(job, claim).finally(() => this.running.delete(job.name));
    this.running.set(job.name, run);
  }

  private hasPlaceFor({ isForeign }: RegisteredJob): boolean {
    const alike = [...this.running.keys()].filter((name) => this.jobs.get(name)?.isForeign === isForeign);
    return alike.length < (isForeign === true ? MOST_FOREIGN_AT_ONCE : MOST_AT_ONCE);
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
      // The next look writes it. Without one the claim ends by itself, and the job is run once more.
      this.unwritten.set(claim.id, write);
      this.logger.warn('the end of a job could not be written', { job: job.name, error: reason });
    }
  }

  private writeEnd(job: RegisteredJob, claim: JobClaim, hasSucceeded: boolean): Promise<void> {
    if (this.stopping.signal.aborted) return this.rows.release(job, claim);
    return hasSucceeded ? this.rows.succeeded(job, claim) : this.rows.failed(job, claim);
  }
}

@Global()
@Module({ imports: [DiscoveryModule], providers: [RepeatingJobs], exports: [RepeatingJobs] })
export class RepeatingJobsModule {}
