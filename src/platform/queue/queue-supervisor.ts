import { BullRegistrar, WorkerHost } from '@nestjs/bullmq';
import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { DiscoveryService, ModuleRef } from '@nestjs/core';
import { type Job, Queue, type Worker } from 'bullmq';
import { Settings } from '../config';
import { Logger } from '../logging';
import { Metrics } from '../metrics';
import { QueueConnection } from './queue-connection';

export const WORKERS_WAIT = Symbol('workers wait');

/** Starts the workers, listens to what becomes of jobs, and closes everything in the order that loses nothing. */
@Injectable()
export class QueueSupervisor
  implements OnApplicationBootstrap, BeforeApplicationShutdown, OnApplicationShutdown
{
  private workers: Worker[] = [];
  private readonly outOfTime = Promise.withResolvers<never>();

  constructor(
    private readonly settings: Settings,
    private readonly connection: QueueConnection,
    private readonly discovery: DiscoveryService,
    private readonly modules: ModuleRef,
    private readonly metrics: Metrics,
    private readonly logger: Logger,
    @Inject(WORKERS_WAIT) private readonly workersWait: boolean,
  ) {
    this.outOfTime.promise.catch(() => undefined);
  }

  onApplicationBootstrap(): void {
    for (const queue of this.queues()) {
      queue.on('error', (error) => this.logger.warn('queue error', { queue: queue.name, error }));
    }
    if (!this.workersWait) this.startWorkers();
  }

  startWorkers(): void {
    this.connection.open();
    if (this.settings.workers === 'off' || this.queues().length === 0) return;
    const hosts = this.instances().filter(
      (instance): instance is WorkerHost => instance instanceof WorkerHost,
    );
    for (const host of hosts) this.bound(host);
    this.modules.get(BullRegistrar, { strict: false }).register();
    this.workers = hosts.map((host) => host.worker);
    for (const worker of this.workers) this.observe(worker);
  }

  /** Workers go first: what a running job needs, such as the database, is still there. */
  async beforeApplicationShutdown(): Promise<void> {
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

  /** A job that does not end would keep its worker, and with it the service, from closing. */
  private bound(host: WorkerHost): void {
    const process = host.process.bind(host);
    host.process = (job, token) => Promise.race([process(job, token), this.outOfTime.promise]);
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
