import { Injectable } from '@nestjs/common';
import { DAY_MS } from '../../kernel';
import { Database, Logger, RepeatingJob, type Row } from '../../platform';
import { handledEvents, type ProcessorEvent, readEvent } from './events';
import { PaymentProcessor } from './payment-processor';
import { ProcessorInbox } from './processor-inbox';

/** The processor lists its events for so long. */
const LISTED_MS = 30 * DAY_MS;
/** One window is read as a whole before it counts as read. */
const WINDOW_MS = DAY_MS;
/** Events may be listed a little after they happened. */
const OVERLAP_MS = 600_000;
const AT_ONCE = 100;

interface Read {
  readonly taken: number;
  /** Every event that was listed was taken in. */
  readonly isWhole: boolean;
}

/**
 * Events can be lost on their way. The processor's own list of them is read every hour and taken in by the same door,
 * which knows those that came.
 */
@Injectable()
export class EventSweep {
  constructor(
    private readonly database: Database,
    private readonly processor: PaymentProcessor,
    private readonly inbox: ProcessorInbox,
    private readonly logger: Logger,
  ) {}

  /** The answer counts the events that had never arrived. */
  @RepeatingJob({ name: 'poll-processor-events', cron: '27 * * * *', deadlineMs: 600_000 })
  async run(signal?: AbortSignal): Promise<number> {
    if (!this.processor.isConnected) return 0;
    const now = Date.now();
    let taken = 0;
    for (let from = await this.begin(now); from < now; from += WINDOW_MS) {
      const until = from + WINDOW_MS < now ? from + WINDOW_MS : null;
      const window = await this.read(from - OVERLAP_MS, until, signal);
      taken += window.taken;
      // Events that could not be read are read again the next time.
      if (!window.isWhole) break;
      await this.remember(until ?? now);
    }
    if (taken > 0) this.logger.warn('events of the payment processor had not arrived', { events: taken });
    return taken;
  }

  private async read(from: number, until: number | null, signal: AbortSignal | undefined): Promise<Read> {
    const created = { gte: seconds(from), ...(until === null ? {} : { lt: seconds(until) }) };
    const done = { taken: 0, failed: 0 };
    await this.processor.call(async (client) => {
      let page: ProcessorEvent[] = [];
      for await (const told of client.events.list({ types: [...handledEvents], created, limit: AT_ONCE })) {
        page.push(...eventsOf(told));
        if (page.length < AT_ONCE) continue;
        await this.takeIn(page, done);
        page = [];
        if (signal?.aborted === true) return;
      }
      await this.takeIn(page, done);
    });
    return { taken: done.taken, isWhole: done.failed === 0 && signal?.aborted !== true };
  }

  private async takeIn(
    page: readonly ProcessorEvent[],
    done: { taken: number; failed: number },
  ): Promise<void> {
    for (const event of await this.inbox.unknownOf(page)) {
      try {
        if ((await this.inbox.receive(event)) !== 'repeated') done.taken += 1;
      } catch (error) {
        done.failed += 1;
        this.logger.warn('a listed event could not be taken in', { error, event: event.id });
      }
    }
  }

  private async begin(now: number): Promise<number> {
    const [known] = await this.database.rows<Row<'processor_sweep', 'swept_until'>>(
      'SELECT swept_until FROM processor_sweep WHERE live_mode = $1',
      [this.processor.isLiveMode],
    );
    return Math.max(known?.sweptUntil.getTime() ?? 0, now - LISTED_MS);
  }

  private async remember(until: number): Promise<void> {
    await this.database.query(
      `INSERT INTO processor_sweep (live_mode, swept_until) VALUES ($1, $2)
       ON CONFLICT (live_mode) DO UPDATE SET swept_until = excluded.swept_until`,
      [this.processor.isLiveMode, new Date(until)],
    );
  }
}

function eventsOf(told: unknown): ProcessorEvent[] {
  const event = readEvent(told);
  return event === null ? [] : [event];
}

const seconds = (milliseconds: number): number => Math.floor(milliseconds / 1_000);
