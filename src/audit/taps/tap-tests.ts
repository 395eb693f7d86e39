import { Injectable } from '@nestjs/common';
import type { SettledRecord } from '#extension';
import { uuidv7 } from '../../kernel';
import { attempt } from './attempt';
import { DeadLetters } from './dead-letters';
import { Taps } from './taps';

/** A request that never was, and says so. */
const testRecord = (): SettledRecord => ({
  request_id: uuidv7(),
  created_at: new Date().toISOString(),
  key_id: null,
  user_id: null,
  organisation_id: null,
  department_id: null,
  project_id: null,
  operation: 'chat',
  model: 'test',
  served_model: null,
  supplier: null,
  region: null,
  status: 200,
  error_code: null,
  stream: false,
  failover: false,
  input_tokens: 0,
  output_tokens: 0,
  cached_tokens: 0,
  cost_usd: '0',
  latency_ms: 0,
  first_token_ms: null,
  finish_reason: null,
  end_user: null,
  tags: [],
  test: true,
});

/** Lets an administrator see whether a tap takes records, without waiting for a request. */
@Injectable()
export class TapTests {
  constructor(
    private readonly taps: Taps,
    private readonly letters: DeadLetters,
  ) {}

  /** Returns what the tap said of a test record: null where it took it, undefined where there is no such tap. */
  async run(name: string): Promise<string | null | undefined> {
    const tap = this.taps.named(name);
    if (tap === undefined) return undefined;
    const error = await attempt(tap.part, [testRecord()], new AbortController().signal);
    await this.letters.putTestOnRecord(name, error);
    return error;
  }
}
