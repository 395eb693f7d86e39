import { Injectable } from '@nestjs/common';
import { Database, type Tx } from '../platform';

@Injectable()
export class RequestRecords {
  constructor(private readonly database: Database) {}

  /** Creates the partitions of this month and later ones; safe to repeat. Returns how many were missing. */
  async createPartitions(months: number, from: Date = new Date()): Promise<number> {
    const [row] = await this.database.query<{ made: number }>(
      'SELECT ensure_request_record_partitions($1::date, $2) AS made',
      [isoDate(from), months],
    );
    return row?.made ?? 0;
  }

  /** Drops the partitions of whole months before the given day's month; returns their names. */
  async dropBefore(day: Date, tx?: Tx): Promise<string[]> {
    const [row] = await (tx ?? this.database.source).query<{ dropped: string[] }[]>(
      'SELECT drop_request_record_partitions($1::date) AS dropped',
      [isoDate(day)],
    );
    return row?.dropped ?? [];
  }

  /** Labels are callers' text, so they are removed with their records. */
  async deleteLabelsBefore(day: Date): Promise<void> {
    await this.database.query('DELETE FROM usage_label_hour WHERE hour < $1', [day]);
    await this.database.query(
      "DELETE FROM usage_day WHERE day < $1 AND dimension IN ('end_user', 'tag', 'any_end_user', 'any_tag')",
      [day],
    );
  }
}

const isoDate = (instant: Date): string => instant.toISOString().slice(0, 10);
