import { Client } from 'pg';
import type { Load } from '../outages/load';

const POLL_INTERVAL_MS = 250;

/** Observes from outside when a record was certainly committed, and when a call was certainly not sent yet. */
export class Witness {
  /** Upper bound of each record's commit time, by the database's clock. */
  private readonly committedBefore = new Map<string, number>();
  private readonly sentAt = new Map<string, number>();
  private timer: NodeJS.Timeout | undefined;
  private polling: Promise<void> | undefined;

  constructor(private readonly urlNow: () => string | undefined) {}

  start(): void {
    this.timer = setInterval(() => {
      this.polling ??= this.poll()
        .catch(() => undefined)
        .finally(() => (this.polling = undefined));
    }, POLL_INTERVAL_MS);
  }

  async stop(): Promise<void> {
    clearInterval(this.timer);
    await this.polling;
  }

  /** Remembers when the calls of a load were sent. */
  remember(load: Load): void {
    const timeOrigin = Date.now() - performance.now();
    for (const { requestId, sentAt: at } of load.seen)
      if (requestId !== '') this.sentAt.set(requestId, timeOrigin + at);
  }

  /** Records that must exist at the moment. */
  committedBy(moment: Date): string[] {
    return [...this.committedBefore].filter(([, at]) => at <= moment.getTime()).map(([id]) => id);
  }

  /** Calls that were not sent yet at the moment. */
  sentAfter(moment: Date): string[] {
    return [...this.sentAt].filter(([, at]) => at > moment.getTime()).map(([id]) => id);
  }

  private async poll(): Promise<void> {
    const connectionString = this.urlNow();
    if (connectionString === undefined) return;
    const client = new Client({ connectionString, connectionTimeoutMillis: 1_000 });
    client.on('error', () => undefined);
    await client.connect();
    try {
      // The clock is read after the snapshot was taken, so visible records were committed before.
      const { rows } = await client.query<{ at: Date; ids: string[] | null }>(
        'SELECT clock_timestamp() AS at, array_agg(request_id::text) AS ids FROM request_record WHERE cost_nano > 0',
      );
      const [row] = rows;
      for (const id of row?.ids ?? [])
        if (!this.committedBefore.has(id)) this.committedBefore.set(id, row!.at.getTime());
    } finally {
      await client.end().catch(() => undefined);
    }
  }
}
