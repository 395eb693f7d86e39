import { InjectQueue, WorkerHost } from '@nestjs/bullmq';
import {
  Injectable,
  Module,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
  SetMetadata,
} from '@nestjs/common';
import { DiscoveryModule, DiscoveryService, MetadataScanner } from '@nestjs/core';
import { type Job, Queue } from 'bullmq';
import { Settings } from '../config';
import { Logger } from '../logging';
import { scheduleJob } from './jobs';
import { QueueModule } from './queue.module';
import { Processor } from './processor';

const upkeepQueue = 'upkeep';
const metadata = Symbol('repeating job');
const USUAL_DEADLINE_MS = 60_000;

interface RepeatingJobRule {
  /** One job of this name for all nodes; it stays in the queue, so it is not reused for something else. */
  readonly name: string;
  /** Five or six fields, in UTC. */
  readonly cron: string;
  /** The signal ends then; what is left is done the next time. */
  readonly deadlineMs?: number;
}

type Run = (signal: AbortSignal) => Promise<unknown>;

/**
 * A method that runs by a schedule, on one of the nodes at a time. It belongs to a provider of any module, is safe to
 * repeat, and ends soon after its signal.
 */
export const RepeatingJob =
  (rule: RepeatingJobRule) =>
  <Method extends Run>(target: object, name: string, method: TypedPropertyDescriptor<Method>): void => {
    SetMetadata(metadata, rule)(target, name, method);
  };

interface RegisteredJob extends RepeatingJobRule {
  readonly run: Run;
}

/** Knows the methods that are marked as repeating jobs. */
@Injectable()
export class RepeatingJobs implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly jobs = new Map<string, RegisteredJob>();
  private readonly stopping = new AbortController();

  constructor(
    @InjectQueue(upkeepQueue) private readonly queue: Queue,
    private readonly discovery: DiscoveryService,
    private readonly settings: Settings,
    private readonly logger: Logger,
  ) {}

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

  /** Needs no place in the start: the service answers before it. */
  async announce(): Promise<void> {
    if (this.settings.workers === 'off') return;
    for (const { name, cron } of this.jobs.values()) await scheduleJob(this.queue, { name, cron, data: {} });
  }

  get names(): string[] {
    return [...this.jobs.keys()];
  }

  async run(name: string): Promise<void> {
    const job = this.jobs.get(name);
    // A node of another version may have announced it.
    if (job === undefined) return this.logger.warn('no such repeating job here', { job: name });
    const late = AbortSignal.timeout(job.deadlineMs ?? USUAL_DEADLINE_MS);
    await job.run(AbortSignal.any([late, this.stopping.signal]));
  }

  private add(job: RegisteredJob): void {
    if (this.jobs.has(job.name)) throw new Error(`two repeating jobs are called ${job.name}`);
    this.jobs.set(job.name, job);
  }
}

function jobsOf(instance: object): RegisteredJob[] {
  const prototype = Object.getPrototypeOf(instance) as Record<string, unknown> | null;
  return new MetadataScanner().getAllMethodNames(prototype).flatMap((name) => {
    const method = prototype?.[name];
    if (typeof method !== 'function') return [];
    const rule = Reflect.getMetadata(metadata, method) as RepeatingJobRule | undefined;
    return rule === undefined ? [] : [{ ...rule, run: (method as Run).bind(instance) }];
  });
}

@Processor(upkeepQueue)
class RepeatingJobWorker extends WorkerHost {
  constructor(private readonly jobs: RepeatingJobs) {
    super();
  }

  override process({ name }: Job): Promise<void> {
    return this.jobs.run(name);
  }
}

@Module({
  imports: [QueueModule.registerQueue(upkeepQueue), DiscoveryModule],
  providers: [RepeatingJobs, RepeatingJobWorker],
})
export class RepeatingJobsModule {}
