import type { Client } from 'pg';
import { monotonicMs, SECOND_MS } from '../../kernel';
import { type LogMark, markOf } from '../wal/wal-shipper';

/** Readings of the database's clock and log position during a base backup, which ends before its last bytes arrive. */
export class BackupClock {
  private readonly marks: LogMark[] = [];
  private notedAt = -Infinity;

  constructor(private readonly client: Client) {}

  async note(): Promise<Date> {
    const mark = await markOf(async (sql) => (await this.client.query<{ at: Date; lsn: string }>(sql)).rows);
    this.marks.push(mark);
    this.notedAt = monotonicMs();
    return mark.at;
  }

  async noteIfOld(): Promise<void> {
    if (monotonicMs() - this.notedAt >= SECOND_MS) await this.note();
  }

  /** The newest moment before which nothing was committed beyond this position of the log. */
  before(endLsn: bigint): Date | undefined {
    return this.marks.findLast(({ lsn }) => lsn <= endLsn)?.at;
  }

  /** The oldest moment after which nothing was committed up to this position: a mark reads its clock first. */
  after(endLsn: bigint): Date | undefined {
    const passed = this.marks.findIndex(({ lsn }) => lsn > endLsn);
    return this.marks[passed + 1]?.at;
  }
}
