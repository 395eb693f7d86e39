import { Injectable, Module } from '@nestjs/common';
import { ActivityRetention, AuditModule, Refusals, RequestRecords } from '../audit';
import { BillingModule, MoneyWatch } from '../billing';
import { CatalogueModule, TokenEvents } from '../catalogue';
import { AnswerStore, IdempotencyModule, ResponsesModule, ResponseStore } from '../gateway';
import {
  InjectQueue,
  type Job,
  Logger,
  Processor,
  Queue,
  QueueModule,
  scheduleJob,
  Settings,
  WorkerHost,
} from '../platform';

const upkeepQueue = 'upkeep';
const PARTITIONS_AHEAD = 3;
/** What is left then is removed the next time. */
const REMOVAL_DEADLINE_MS = 60_000;
const TOKEN_EVENTS_KEPT_MS = 90 * 86_400_000;

/**
 * What has to happen by itself, in UTC: partitions are made ahead and old ones dropped, money is checked nightly, and
 * answers kept for a day go after it, the oldest of a key that has too many before, what tokens of suppliers went
 * through after ninety, and entries of the activity log when their retention says so.
 */
const schedule = [
  { name: 'partitions', cron: '10 2 * * *' },
  { name: 'verify-money', cron: '40 2 * * *' },
  { name: 'idempotent-answers', cron: '*/10 * * * *' },
  { name: 'kept-responses', cron: '5-59/10 * * * *' },
  { name: 'token-events', cron: '25 3 * * *' },
  { name: 'activity', cron: '35 3 * * *' },
] as const;
type UpkeepJob = (typeof schedule)[number]['name'];

@Injectable()
export class UpkeepSchedule {
  constructor(
    @InjectQueue(upkeepQueue) private readonly queue: Queue,
    private readonly settings: Settings,
  ) {}

  /** Needs no place in the start: the service answers before it. */
  async announce(): Promise<void> {
    if (this.settings.workers === 'off') return;
    for (const { name, cron } of schedule) await scheduleJob(this.queue, { name, cron, data: {} });
  }
}

@Processor(upkeepQueue)
class UpkeepWorker extends WorkerHost {
  constructor(
    private readonly records: RequestRecords,
    private readonly refusals: Refusals,
    private readonly activity: ActivityRetention,
    private readonly answers: AnswerStore,
    private readonly responses: ResponseStore,
    private readonly tokenEvents: TokenEvents,
    private readonly money: MoneyWatch,
    private readonly settings: Settings,
    private readonly logger: Logger,
  ) {
    super();
  }

  override async process(job: Job): Promise<void> {
    switch (job.name as UpkeepJob) {
      case 'partitions':
        return this.turnPartitions(new Date());
      case 'verify-money':
        return this.money.look(true);
      case 'idempotent-answers':
        await this.answers.removeExpired(AbortSignal.timeout(REMOVAL_DEADLINE_MS));
        return;
      case 'kept-responses':
        await this.responses.removeExpired(AbortSignal.timeout(REMOVAL_DEADLINE_MS));
        return;
      case 'token-events':
        await this.tokenEvents.forgetBefore(new Date(Date.now() - TOKEN_EVENTS_KEPT_MS));
        return;
      case 'activity':
        await this.activity.forgetOld(new Date());
    }
  }

  private async turnPartitions(now: Date): Promise<void> {
    const made = await this.records.makePartitions(PARTITIONS_AHEAD, now);
    const { recordRetentionMonths: months } = this.settings;
    if (months === undefined) return this.logger.info('partitions of request records are ready', { made });
    const oldest = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - months, 1));
    const dropped = await this.records.dropBefore(oldest);
    await this.refusals.forgetBefore(oldest);
    this.logger.info('partitions of request records are ready', { made, dropped });
  }
}

@Module({
  imports: [
    QueueModule.registerQueue(upkeepQueue),
    AuditModule,
    BillingModule,
    CatalogueModule,
    IdempotencyModule,
    ResponsesModule,
  ],
  providers: [UpkeepSchedule, UpkeepWorker],
})
export class UpkeepModule {}
