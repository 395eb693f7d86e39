import { Injectable } from '@nestjs/common';
import { DAY_MS } from '../../kernel';
import { Database, Logger, RepeatingJob, type TableRow } from '../../platform';
import { handledEvents, type ProcessorEvent, readEvent } from './events';
import { PaymentProcessor } from './payment-processor';
import { ProcessorInbox } from './processor-inbox';

const RETENTION_MS = 30 * DAY_MS;
/** A window counts as read only once it is read completely. */
const WINDOW_MS = DAY_MS;
const OVERLAP_MS = 600_000;
const BATCH_SIZE = 100;

interface SweptWindow {
  readonly received: number;
  readonly isComplete: boolean;
}

/**
 * Reads the processor's list of events every hour, because events can be lost. The inbox recognises those that have
 * arrived.
 */
@Injectable()
export class EventSweep {
  constructor(
    private readonly database: Database,
    private readonly processor: PaymentProcessor,
    private readonly inbox: ProcessorInbox,
    private readonly logger: Logger,
  ) {}

  /** Returns the number of events that had never arrived. */
  @RepeatingJob({ name: 'poll-processor-events', cron: '27 * * * *', deadlineMs: 600_000 })
  async run(signal?: AbortSignal): Promise<number> {
    if (!this.processor.isConnected) return 0;
    const now = Date.now();
    let received = 0;
    for (let from = await this.findStart(now); from < now; from += WINDOW_MS) {
      const until = from + WINDOW_MS < now ? from + WINDOW_MS : null;
      const window = await this.read(from - OVERLAP_MS, until, signal);
      received += window.received;
      // Events that could not be read are read again at the next run.
      if (!window.isComplete) break;
      await this.saveProgress(until ?? now);
    }
    if (received > 0)
      this.logger.warn('events of the payment processor had not arrived', { events: received });
    return received;
  }

  private async read(
    from: number,
    until: number | null,
    signal: AbortSignal | undefined,
  ): Promise<SweptWindow> {
    const created = { gte: seconds(from), ...(until === null ? {} : { lt: seconds(until) }) };
    const counts = { taken: 0, failed: 0 };
    await this.processor.call(async (client) => {
      let page: ProcessorEvent[] = [];
      for await (const item of client.events.list({
        types: [...handledEvents],
        created,
        limit: BATCH_SIZE,
      })) {
        page.push(...eventsOf(item));
        if (page.length < BATCH_SIZE) continue;
        await this.receiveAll(page, counts);
        page = [];
        if (signal?.aborted === true) return;
      }
      await this.receiveAll(page, counts);
    });
    return { received: counts.taken, isComplete: counts.failed === 0 && signal?.aborted !== true };
  }

  private async receiveAll(
    page: readonly ProcessorEvent[],
    counts: { taken: number; failed: number },
  ): Promise<void> {
    for (const event of await this.inbox.findMissing(page)) {
      try {
        if ((await this.inbox.receive(event)) !== 'repeated') counts.taken += 1;
      } catch (error) {
        counts.failed += 1;
        this.logger.warn('a listed event could not be taken in', { error, event: event.id });
      }
    }
  }

  private async findStart(now: number): Promise<number> {
    const [sweep] = await this.database.rows<TableRow<'processor_sweep', 'swept_until'>>(
      'SELECT swept_until FROM processor_sweep WHERE live_mode = $1',
      [this.processor.isLiveMode],
    );
    return Math.max(sweep?.sweptUntil.getTime() ?? 0, now - RETENTION_MS);
  }

  private async saveProgress(until: number): Promise<void> {
    await this.database.query(
      `INSERT INTO processor_sweep (live_mode, swept_until) VALUES ($1, $2)
       ON CONFLICT (live_mode) DO UPDATE SET swept_until = excluded.swept_until`,
      [this.processor.isLiveMode, new Date(until)],
    );
  }
}

function eventsOf(body: unknown): ProcessorEvent[] {
  const event = readEvent(body);
  return event === null ? [] : [event];
}

const seconds = (milliseconds: number): number => Math.floor(milliseconds / 1_000);
