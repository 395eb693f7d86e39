import { Client } from 'pg';
import type { Load } from '../outages/load';

const LOOK_MS = 250;

/** Remembers, from outside, when a record was surely committed, and when a call was surely not yet sent. */
export class Witness {
  /** By the database's clock: the record was committed by then. */
  private readonly committed = new Map<string, number>();
  private readonly sent = new Map<string, number>();
  private timer: NodeJS.Timeout | undefined;
  private looking: Promise<void> | undefined;

  constructor(private readonly urlNow: () => string | undefined) {}

  start(): void {
    this.timer = setInterval(() => {
      this.looking ??= this.look()
        .catch(() => undefined)
        .finally(() => (this.looking = undefined));
    }, LOOK_MS);
  }

  async stop(): Promise<void> {
    clearInterval(this.timer);
    await this.looking;
  }

  /** When the calls of a load were sent. */
  remember(load: Load): void {
    const zero = Date.now() - performance.now();
    for (const { requestId, at } of load.seen) if (requestId !== '') this.sent.set(requestId, zero + at);
  }

  /** These records must be there at the moment. */
  committedBy(moment: Date): string[] {
    return [...this.committed].filter(([, at]) => at <= moment.getTime()).map(([id]) => id);
  }

  /** These calls were not sent yet at the moment. */
  sentAfter(moment: Date): string[] {
    return [...this.sent].filter(([, at]) => at > moment.getTime()).map(([id]) => id);
  }

  private async look(): Promise<void> {
    const connectionString = this.urlNow();
    if (connectionString === undefined) return;
    const client = new Client({ connectionString, connectionTimeoutMillis: 1_000 });
    client.on('error', () => undefined);
    await client.connect();
    try {
      // The clock is read after the snapshot was taken: what is seen was committed before.
      const { rows } = await client.query<{ at: Date; ids: string[] | null }>(
        'SELECT clock_timestamp() AS at, array_agg(request_id::text) AS ids FROM request_record WHERE cost_nano > 0',
      );
      const [row] = rows;
      for (const id of row?.ids ?? []) if (!this.committed.has(id)) this.committed.set(id, row!.at.getTime());
    } finally {
      await client.end().catch(() => undefined);
    }
  }
}
