import { Injectable } from '@nestjs/common';
import type { Nano, Scope } from '../../kernel';
import { Database } from '../../platform';

export interface UsagePeriod {
  readonly from: Date;
  /** Not included. */
  readonly to: Date;
}

export interface UsageTotals {
  readonly requests: number;
  readonly failures: number;
  readonly tokens: bigint;
  readonly cost: Nano;
}

/** What was asked of one model on one day of the reader's zone, as YYYY-MM-DD. */
export interface ModelDay extends UsageTotals {
  readonly day: string;
  readonly model: string;
}

interface Row {
  readonly day: string;
  readonly model: string | null;
  readonly requests: string;
  readonly failures: string;
  readonly tokens: string;
  readonly cost: string;
}

const SUMS = `sum(requests)::text AS requests, sum(failures)::text AS failures,
  sum(input_tokens + cache_read_tokens + cache_write_tokens + output_tokens)::text AS tokens, sum(cost_nano)::text AS cost`;

/** Sums of the hours of usage, for the overview and for a key's own page. */
@Injectable()
export class UsageFigures {
  constructor(private readonly database: Database) {}

  async days(
    scope: Scope,
    { from, to }: UsagePeriod,
    timeZone: string,
    keyId: number | null = null,
  ): Promise<ModelDay[]> {
    const within = withinScope(scope, 5);
    const rows = await this.database.query<Row>(
      `SELECT to_char(hour AT TIME ZONE $3, 'YYYY-MM-DD') AS day, coalesce(served_model, model) AS model, ${SUMS}
         FROM usage_hour WHERE hour >= $1 AND hour < $2 AND ($4::bigint IS NULL OR key_id = $4) AND ${within.sql}
        GROUP BY 1, 2 ORDER BY 1`,
      [from, to, timeZone, keyId, ...within.parameters],
    );
    return rows.map((row) => ({ day: row.day, model: row.model ?? '–', ...totalsOf(row) }));
  }

  async totals(scope: Scope, { from, to }: UsagePeriod): Promise<UsageTotals> {
    const within = withinScope(scope, 3);
    const [row] = await this.database.query<Row>(
      `SELECT ${SUMS} FROM usage_hour WHERE hour >= $1 AND hour < $2 AND ${within.sql}`,
      [from, to, ...within.parameters],
    );
    return totalsOf(row);
  }
}

/** Without rows, sums are null. */
const totalsOf = (row: Partial<Record<keyof Row, string | null>> | undefined): UsageTotals => ({
  requests: Number(row?.requests ?? 0),
  failures: Number(row?.failures ?? 0),
  tokens: BigInt(row?.tokens ?? 0),
  cost: BigInt(row?.cost ?? 0),
});

export function sumOf(rows: readonly UsageTotals[]): UsageTotals {
  const sum = { requests: 0, failures: 0, tokens: 0n, cost: 0n };
  for (const { requests, failures, tokens, cost } of rows) {
    sum.requests += requests;
    sum.failures += failures;
    sum.tokens += tokens;
    sum.cost += cost;
  }
  return sum;
}

function withinScope(scope: Scope, first: number): { sql: string; parameters: number[] } {
  const [one, two, three] = [`$${first}`, `$${first + 1}`, `$${first + 2}`];
  switch (scope.kind) {
    case 'platform':
      return { sql: 'true', parameters: [] };
    case 'organisation':
      return { sql: `organisation_id = ${one}`, parameters: [scope.organisationId] };
    case 'department':
      return {
        sql: `((organisation_id = ${one} AND department_id = ${two}) OR user_id = ${three})`,
        parameters: [scope.organisationId, scope.departmentId, scope.userId],
      };
    case 'user':
      return { sql: `user_id = ${one}`, parameters: [scope.userId] };
  }
}
