import { Injectable } from '@nestjs/common';
import { Database } from '../../platform';
import { ActivityLog } from '../activity/activity-log';
import { entryOf } from '../request-record.query';
import { settledRecordOf } from '../settled-record';
import { attempt } from './attempt';
import { DeadLetters } from './dead-letters';
import { Taps } from './taps';

export interface TapTest {
  readonly requestId: string;
  readonly answer: string | null;
  readonly error: string | null;
}

const NEWEST = 'SELECT * FROM request_record ORDER BY created_at DESC, request_id DESC LIMIT 1';

@Injectable()
export class TapTests {
  constructor(
    private readonly taps: Taps,
    private readonly letters: DeadLetters,
    private readonly database: Database,
    private readonly activity: ActivityLog,
  ) {}

  async run(name: string): Promise<TapTest | 'no-tap' | 'no-record'> {
    const tap = this.taps.find(name);
    if (tap === undefined) return 'no-tap';
    const [row] = await this.database.query<Readonly<Record<string, unknown>>>(NEWEST);
    if (row === undefined) {
      this.activity.reportNoChange();
      return 'no-record';
    }
    const record = settledRecordOf(entryOf(row));
    const result = await attempt(tap, [{ ...record, test: true }], new AbortController().signal);
    const error = result.ok ? null : result.error.message;
    await this.letters.recordTest(name, error);
    return { requestId: record.request_id, answer: result.ok ? result.value : null, error };
  }
}
