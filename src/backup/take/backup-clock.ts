import type { Client } from 'pg';
import { monotonicMs, SECOND_MS } from '../../kernel';
import { type LogMark, readMark } from '../wal/wal-shipper';

/** Readings of the database's clock and log position during a base backup, which ends before its last bytes arrive. */
export class BackupClock {
  private readonly marks: LogMark[] = [];
  private recordedAt = -Infinity;

  constructor(private readonly client: Client) {}

  async record(): Promise<Date> {
    const mark = await readMark(
      async (sql) => (await this.client.query<{ at: Date; lsn: string }>(sql)).rows,
    );
    this.marks.push(mark);
    this.recordedAt = monotonicMs();
    return mark.at;
  }

  async recordIfOld(): Promise<void> {
    if (monotonicMs() - this.recordedAt >= SECOND_MS) await this.record();
  }

  /** Returns the newest moment before which nothing was committed beyond this position of the log. */
  before(endLsn: bigint): Date | undefined {
    return this.marks.findLast(({ lsn }) => lsn <= endLsn)?.at;
  }

  /** Returns the oldest moment after which nothing was committed up to this position: a mark reads its clock first. */
  after(endLsn: bigint): Date | undefined {
    const passed = this.marks.findIndex(({ lsn }) => lsn > endLsn);
    return this.marks[passed + 1]?.at;
  }
}
