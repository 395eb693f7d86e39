import { BullRegistrar, WorkerHost } from '@nestjs/bullmq';
import {
  type BeforeApplicationShutdown,
  Injectable,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { DiscoveryService, ModuleRef } from '@nestjs/core';
import { type Job, Queue, WaitingError, type Worker } from 'bullmq';
import { Settings } from '../config';
import { ClockWatch } from '../database';
import { updatePoolGauges } from '../database/pool-gauges';
import { Logger } from '../logging';
import { Metrics } from '../metrics';
import { QueueConnection } from './queue-connection';
import { QueueWatch } from './queue-watch';

/** Starts the workers, observes the outcome of jobs, and closes everything in an order that loses nothing. */
@Injectable()
export class QueueSupervisor
  implements OnApplicationBootstrap, BeforeApplicationShutdown, OnApplicationShutdown
{
  private workers: Worker[] = [];
  private readonly watches: QueueWatch[] = [];
  private readonly outOfTime = Promise.withResolvers<never>();
  private isClosing = false;

  constructor(
    private readonly settings: Settings,
    private readonly connection: QueueConnection,
    private readonly discovery: DiscoveryService,
    private readonly modules: ModuleRef,
    private readonly metrics: Metrics,
    private readonly logger: Logger,
    private readonly clock: ClockWatch,
  ) {
    this.outOfTime.promise.catch(() => undefined);
  }

  onApplicationBootstrap(): void {
    for (const queue of this.queues()) {
      queue.on('error', (error) => this.logger.warn('queue error', { queue: queue.name, error }));
    }
    this.metrics.beforeRead(() => this.updateGauges());
  }

  /** Workers start once this machine's clock is known to be accurate, and pause while it is not. */
  startWorkers(): void {
    this.connection.open();
    this.clock.watch((isAccurate) => {
      if (this.isClosing || this.settings.workers === 'off' || this.queues().length === 0) return;
      if (isAccurate && this.workers.length === 0) this.createWorkers();
      else for (const worker of this.workers) void (isAccurate ? worker.resume() : worker.pause(true));
    });
  }

  /** Queues whose jobs wait although this node has a worker for them. */
  get stuck(): string[] {
    return this.clock.isRight ? this.watches.filter((watch) => watch.isStuck).map(({ queue }) => queue) : [];
  }

  /** Number of waiting jobs per queue, including those of a lost worker. */
  async waiting(): Promise<Record<string, number>> {
    this.connection.open();
    const countsPerQueue = this.queues().map(async (queue) => {
      const counts = await queue.getJobCounts('waiting', 'delayed', 'prioritized', 'active');
      return [queue.name, Object.values(counts).reduce((sum, count) => sum + count, 0)] as const;
    });
    return Object.fromEntries(await Promise.all(countsPerQueue));
  }

  async drop(names: readonly string[]): Promise<void> {
    this.connection.open();
    for (const queue of this.queues())
      if (names.includes(queue.name)) await queue.obliterate({ force: true });
  }

  /** Workers close first, while everything that a running job needs, such as the database, is still available. */
  async beforeApplicationShutdown(): Promise<void> {
    this.isClosing = true;
    for (const watch of this.watches) watch.stop();
    const timer = setTimeout(() => {
      this.logger.warn('jobs did not end in time; they will be repeated');
      this.outOfTime.reject(new Error('the service was stopped'));
    }, this.settings.drainTimeoutMs);
    await Promise.all(this.workers.map((worker) => worker.close()));
    clearTimeout(timer);
  }

  async onApplicationShutdown(): Promise<void> {
    this.connection.open();
    await Promise.all(this.queues().map((queue) => queue.close()));
    await this.connection.close();
  }

  private updateGauges(): void {
    const { metrics, clock, connection } = this;
    metrics.clockAhead.set({}, (clock.aheadMs ?? 0) / 1_000);
    metrics.workersRunning.set({}, this.workers.length > 0 && clock.isRight ? 1 : 0);
    if (connection.pool !== null) updatePoolGauges(metrics, 'queue', connection.pool);
  }

  private createWorkers(): void {
    const hosts = this.instances().filter(
      (instance): instance is WorkerHost => instance instanceof WorkerHost,
    );
    for (const host of hosts) this.limitProcessing(host);
    this.modules.get(BullRegistrar, { strict: false }).register();
    this.workers = hosts.map((host) => host.worker);
    for (const worker of this.workers) this.observe(worker);
  }

  /** A job that does not end would keep its worker, and with it the service, from closing. */
  private limitProcessing(host: WorkerHost): void {
    const process = host.process.bind(host) as (job: Job, token?: string) => Promise<unknown>;
    host.process = async (job, token) => {
      // A pausing worker still takes the job it was waiting for.
      if (!this.clock.isRight) {
        await job.moveToWait(token);
        throw new WaitingError();
      }
      return Promise.race([process(job, token), this.outOfTime.promise]);
    };
  }

  private queues(): Queue[] {
    return this.instances().filter((instance): instance is Queue => instance instanceof Queue);
  }

  private instances(): unknown[] {
    return this.discovery.getProviders().map((wrapper): unknown => wrapper.instance);
  }

  private observe(worker: Worker): void {
    const queue = worker.name;
    worker.on('error', (error) => this.logger.warn('worker error', { queue, error }));
    worker.on('completed', () => this.metrics.jobs.inc({ queue, outcome: 'completed' }));
    worker.on('failed', (job, error) => this.jobFailed(queue, job, error));
    const source = this.queues().find(({ name }) => name === queue);
    if (source !== undefined) this.watches.push(new QueueWatch(source, worker, this.metrics));
  }

  /** A job without remaining attempts stays among the failed ones, as a dead letter to examine and repeat. */
  private jobFailed(queue: string, job: Job | undefined, error: Error): void {
    this.metrics.jobs.inc({ queue, outcome: 'failed' });
    const isDead = job?.finishedOn !== undefined;
    if (isDead) this.metrics.deadJobs.inc({ queue });
    const details = { queue, job: job?.name, job_id: job?.id, attempts: job?.attemptsMade, error };
    this.logger[isDead ? 'error' : 'warn'](isDead ? 'job given up' : 'job failed, will be repeated', details);
  }
}
