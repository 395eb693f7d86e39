import { Injectable } from '@nestjs/common';
import { Database } from '../../platform';
import { ActivityLog } from '../activity/activity-log';
import { entryOf } from '../request-record-query';
import { settledRecordOf } from '../settled-record';
import { attempt } from './attempt';
import { DeadLetters } from './dead-letters';
import { Taps } from './taps';

/** What came of a record that was sent as a test. */
export interface TapTest {
  readonly requestId: string;
  /** What the receiver said, where the tap knows. */
  readonly answer: string | null;
  readonly error: string | null;
}

const NEWEST = 'SELECT * FROM request_record ORDER BY created_at DESC, request_id DESC LIMIT 1';

/** Lets an administrator see whether a tap takes records, by one that is stored; it says that it is a test. */
@Injectable()
export class TapTests {
  constructor(
    private readonly taps: Taps,
    private readonly letters: DeadLetters,
    private readonly database: Database,
    private readonly activity: ActivityLog,
  ) {}

  async run(name: string): Promise<TapTest | 'no-tap' | 'no-record'> {
    const tap = this.taps.named(name);
    if (tap === undefined) return 'no-tap';
    const [row] = await this.database.query<Readonly<Record<string, unknown>>>(NEWEST);
    if (row === undefined) {
      this.activity.nothingChanged();
      return 'no-record';
    }
    const record = settledRecordOf(entryOf(row));
    const tried = await attempt(tap, [{ ...record, test: true }], new AbortController().signal);
    const error = tried.ok ? null : tried.error.words;
    await this.letters.putTestOnRecord(name, error);
    return { requestId: record.request_id, answer: tried.ok ? tried.value : null, error };
  }
}
