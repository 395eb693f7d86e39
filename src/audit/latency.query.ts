import { Injectable } from '@nestjs/common';
import { Database } from '../platform';
import { type RecordScope, withinRecordScope } from './record-scope';
import { SqlParameters } from './sql-parameters';

export interface Latencies {
  readonly requests: number;
  /** 95th percentile; null without requests. */
  readonly slowMs: number | null;
  /** Median time to the first token of streams; null without any. */
  readonly firstTokenMs: number | null;
}

@Injectable()
export class LatencyQuery {
  constructor(private readonly database: Database) {}

  async newest(scope: RecordScope, from: Date, maxRequests: number): Promise<Latencies> {
    const parameters = new SqlParameters();
    const since = parameters.add(from);
    const limit = parameters.add(maxRequests);
    const [row] = await this.database.query<Latencies>(
      `SELECT count(*)::integer AS requests,
              percentile_disc(0.95) WITHIN GROUP (ORDER BY latency_ms)::integer AS "slowMs",
              percentile_disc(0.5) WITHIN GROUP (ORDER BY first_token_ms)::integer AS "firstTokenMs"
         FROM (SELECT latency_ms, first_token_ms FROM request_record r
                WHERE r.created_at >= ${since} AND r.code IS NULL AND ${withinRecordScope(scope, parameters, 'r')}
                ORDER BY r.created_at DESC, r.request_id DESC LIMIT ${limit}) AS newest`,
      parameters.values,
    );
    return row ?? { requests: 0, slowMs: null, firstTokenMs: null };
  }
}
