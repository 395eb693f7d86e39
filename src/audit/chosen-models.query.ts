import { Injectable } from '@nestjs/common';
import { Database } from '../platform';
import { type RecordScope, withinRecordScope } from './record-scope';
import { SqlParameters } from './sql-parameters';

export interface ChosenModel {
  /** Null for requests that no model served. */
  readonly model: string | null;
  readonly requests: number;
  readonly failures: number;
  readonly costNano: bigint;
  readonly meanLatencyMs: number;
}

interface ChosenModelRow {
  readonly model: string | null;
  readonly requests: string;
  readonly failures: string;
  readonly cost_nano: string;
  readonly latency_ms: string;
}

const MAX_MODELS = 100;

@Injectable()
export class ChosenModelsQuery {
  constructor(private readonly database: Database) {}

  async of(scope: RecordScope, name: string, from: Date): Promise<ChosenModel[]> {
    const parameters = new SqlParameters();
    const [requestedModel, since] = [parameters.add(name), parameters.add(from)];
    const rows = await this.database.query<ChosenModelRow>(
      `SELECT u.served_model AS model, sum(u.requests)::text AS requests, sum(u.failures)::text AS failures,
              sum(u.cost_nano)::text AS cost_nano, (sum(u.latency_ms) / sum(u.requests))::float8::text AS latency_ms
         FROM usage_hour u WHERE u.model = ${requestedModel} AND u.hour >= date_trunc('hour', ${since}::timestamptz, 'UTC')
          AND ${withinRecordScope(scope, parameters, 'u')}
        GROUP BY 1 ORDER BY sum(u.requests) DESC, 1 LIMIT ${MAX_MODELS}`,
      parameters.values,
    );
    return rows.map((row) => ({
      model: row.model,
      requests: Number(row.requests),
      failures: Number(row.failures),
      costNano: BigInt(row.cost_nano),
      meanLatencyMs: Number(row.latency_ms),
    }));
  }
}
