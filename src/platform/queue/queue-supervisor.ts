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
import { readPool } from '../database/pool-gauges';
import { Logger } from '../logging';
import { Metrics } from '../metrics';
import { QueueConnection } from './queue-connection';
import { QueueWatch } from './queue-watch';

/** Starts the workers, listens to what becomes of jobs, and closes everything in the order that loses nothing. */
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
    this.metrics.beforeRead(() => this.read());
  }

  /** They begin once this machine's clock is known to be right, and pause while it is not. */
  startWorkers(): void {
    this.connection.open();
    this.clock.watch((isRight) => {
      if (this.isClosing || this.settings.workers === 'off' || this.queues().length === 0) return;
      if (isRight && this.workers.length === 0) this.begin();
      else for (const worker of this.workers) void (isRight ? worker.resume() : worker.pause(true));
    });
  }

  /** Jobs of these queues wait though this node has a worker for them. */
  get stuck(): string[] {
    return this.clock.isRight ? this.watches.filter((watch) => watch.isStuck).map(({ queue }) => queue) : [];
  }

  /** Jobs that wait in each queue, those that a lost worker had among them. */
  async waiting(): Promise<Record<string, number>> {
    this.connection.open();
    const counted = this.queues().map(async (queue) => {
      const counts = await queue.getJobCounts('waiting', 'delayed', 'prioritized', 'active');
      return [queue.name, Object.values(counts).reduce((sum, count) => sum + count, 0)] as const;
    });
    return Object.fromEntries(await Promise.all(counted));
  }

  /** Takes every job out of these queues, before workers begin. */
  async drop(names: readonly string[]): Promise<void> {
    this.connection.open();
    for (const queue of this.queues())
      if (names.includes(queue.name)) await queue.obliterate({ force: true });
  }

  /** Workers go first: what a running job needs, such as the database, is still there. */
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

  private read(): void {
    const { metrics, clock, connection } = this;
    metrics.clockAhead.set({}, (clock.aheadMs ?? 0) / 1_000);
    metrics.workersRunning.set({}, this.workers.length > 0 && clock.isRight ? 1 : 0);
    if (connection.pool !== null) readPool(metrics, 'queue', connection.pool);
  }

  private begin(): void {
    const hosts = this.instances().filter(
      (instance): instance is WorkerHost => instance instanceof WorkerHost,
    );
    for (const host of hosts) this.bound(host);
    this.modules.get(BullRegistrar, { strict: false }).register();
    this.workers = hosts.map((host) => host.worker);
    for (const worker of this.workers) this.observe(worker);
  }

  /** A job that does not end would keep its worker, and with it the service, from closing. */
  private bound(host: WorkerHost): void {
    const process = host.process.bind(host) as (job: Job, token?: string) => Promise<unknown>;
    host.process = async (job, token) => {
      // A worker that pauses still takes what it was waiting for.
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

  /** A job without an attempt left stays among the failed ones, as a dead letter to look at and repeat. */
  private jobFailed(queue: string, job: Job | undefined, error: Error): void {
    this.metrics.jobs.inc({ queue, outcome: 'failed' });
    const dead = job?.finishedOn !== undefined;
    if (dead) this.metrics.deadJobs.inc({ queue });
    const facts = { queue, job: job?.name, job_id: job?.id, attempts: job?.attemptsMade, error };
    this.logger[dead ? 'error' : 'warn'](dead ? 'job given up' : 'job failed, will be repeated', facts);
  }
}
