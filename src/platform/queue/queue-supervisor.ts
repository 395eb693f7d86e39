import { BullRegistrar, WorkerHost } from '@nestjs/bullmq';
import {
  type BeforeApplicationShutdown,
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

/** Starts the workers, listens to what becomes of jobs, and closes everything in the order that loses nothing. */
@Injectable()
export class QueueSupervisor
  implements OnApplicationBootstrap, BeforeApplicationShutdown, OnApplicationShutdown
{
  private workers: Worker[] = [];
  private workersClosed: Promise<unknown> = Promise.resolve();
  private late = false;

  constructor(
    private readonly settings: Settings,
    private readonly connection: QueueConnection,
    private readonly discovery: DiscoveryService,
    private readonly modules: ModuleRef,
    private readonly metrics: Metrics,
    private readonly logger: Logger,
  ) {}

  onApplicationBootstrap(): void {
    const queues = this.queues();
    for (const queue of queues) {
      queue.on('error', (error) => this.logger.warn('queue error', { queue: queue.name, error }));
    }
    if (this.settings.workers === 'off' || queues.length === 0) return;
    this.modules.get(BullRegistrar, { strict: false }).register();
    const hosts = this.instances().filter((instance) => instance instanceof WorkerHost);
    this.workers = hosts.map((host) => host.worker);
    for (const worker of this.workers) this.observe(worker);
  }

  /** Workers go first: what a running job needs, such as the database, is still there. */
  async beforeApplicationShutdown(): Promise<void> {
    this.workersClosed = Promise.all(this.workers.map((worker) => worker.close()));
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<'late'>((resolve) => {
      timer = setTimeout(resolve, this.settings.drainTimeoutMs, 'late');
    });
    this.late = (await Promise.race([this.workersClosed, late])) === 'late';
    clearTimeout(timer);
    // Such a job ends with the process; another worker takes it over once its lock has run out. It is not torn
    // from its connection, because BullMQ's forced close can leave the worker spinning.
    if (this.late) this.logger.warn('a job did not end in time');
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all(this.queues().map((queue) => queue.close()));
    const closed = this.workersClosed.then(() => this.connection.close());
    if (!this.late) await closed;
  }

  private queues(): Queue[] {
    return this.instances().filter((instance) => instance instanceof Queue);
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
