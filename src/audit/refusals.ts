import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { ErrorCode } from '../kernel';
import { Database, Logger, Metrics, type TableRow, Settings } from '../platform';
import { type RefusalCount, RefusalTally } from './refusal-tally';

const WRITE_EVERY_MS = 5_000;
const MAX_ROWS = 1_000;

/** All nodes add rows in the same order, so that their locks cannot deadlock. */
const ADD = `
  INSERT INTO refusal_hour AS known (key_id, hour, code, count)
  SELECT key_id, to_timestamp(hour / 1000.0), code, count
    FROM jsonb_to_recordset($1::jsonb) AS given (key_id bigint, hour bigint, code text, count bigint)
   ORDER BY key_id, hour, code
  ON CONFLICT (key_id, hour, code) DO UPDATE SET count = known.count + excluded.count`;

const OF_KEY = `
  SELECT code, hour, count FROM refusal_hour
   WHERE key_id = $1 AND ($2::timestamptz IS NULL OR hour >= date_trunc('hour', $2, 'UTC'))
     AND ($3::timestamptz IS NULL OR hour < $3)
   ORDER BY hour DESC, code LIMIT ${MAX_ROWS}`;

export interface RefusalHour {
  readonly code: string;
  readonly hour: Date;
  readonly count: number;
}

/**
 * Requests refused before a supplier was called. A client in a loop sends thousands per minute, so all are counted,
 * written every few seconds, and only some become records.
 */
@Injectable()
export class Refusals implements OnApplicationShutdown {
  private readonly tally: RefusalTally;
  private timer: NodeJS.Timeout | undefined;
  private writing: Promise<void> = Promise.resolve();
  private isStopping = false;

  constructor(
    private readonly database: Database,
    private readonly metrics: Metrics,
    private readonly logger: Logger,
    { refusalSample }: Settings,
  ) {
    this.tally = new RefusalTally(refusalSample);
  }

  /** Returns whether the refusal becomes a record. */
  count(keyId: number, code: ErrorCode): boolean {
    const isRecorded = this.tally.add(keyId, code, Date.now());
    this.writeSoon();
    return isRecorded;
  }

  async ofKey(keyId: number, from: Date | null, to: Date | null): Promise<RefusalHour[]> {
    await this.write();
    const rows = await this.database.query<TableRow<'refusal_hour', 'code, hour, count'>>(OF_KEY, [
      keyId,
      from,
      to,
    ]);
    return rows.map((row) => ({ ...row, count: Number(row.count) }));
  }

  async deleteBefore(day: Date): Promise<void> {
    await this.database.query('DELETE FROM refusal_hour WHERE hour < $1', [day]);
  }

  async onApplicationShutdown(): Promise<void> {
    this.isStopping = true;
    clearTimeout(this.timer);
    await this.write();
  }

  private writeSoon(): void {
    if (this.isStopping) return;
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      void this.write();
    }, WRITE_EVERY_MS).unref();
  }

  /** Writes all counts in one statement. Never rejects: counts that could not be written wait for the next flush. */
  private write(): Promise<void> {
    return (this.writing = this.writing.then(() => this.writeCounts()));
  }

  private async writeCounts(): Promise<void> {
    const counts = this.tally.take(Date.now());
    if (counts.length === 0) return;
    try {
      await this.database.query(ADD, [JSON.stringify(counts.map(rowOf))]);
    } catch (error) {
      const lost = this.tally.restore(counts);
      this.metrics.auditWriteFailures.inc({});
      this.logger.warn('refusals could not be counted in the database', { error, lost });
      this.writeSoon();
    }
  }
}

const rowOf = ({ keyId, hour, code, count }: RefusalCount) => ({ key_id: keyId, hour, code, count });
