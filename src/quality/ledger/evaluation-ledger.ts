import { Injectable } from '@nestjs/common';
import { type Nano, nanoPerUsd, uuidv7 } from '../../kernel';
import { Database } from '../../platform';
import type { RemainingBudget } from '../sampling/sampling-rate';

export type EvaluationPurpose = 'replay' | 'judge' | 'compare';

export interface PlannedCall {
  readonly organisationId: number;
  readonly requestId: string;
  readonly purpose: EvaluationPurpose;
  readonly model: string;
  readonly expectedNano: Nano;
}

const MAX_CALL_DURATION = `interval '30 minutes'`;

/**
 * Cost of evaluation, separate from all wallets. A call is entered before it is made, under the id of its request
 * record, so that a crash loses no cost.
 */
@Injectable()
export class EvaluationLedger {
  constructor(private readonly database: Database) {}

  /** Returns the id of the call; null if the month's budget does not cover it. */
  async start(planned: PlannedCall, monthlyBudget: number): Promise<string | null> {
    const { organisationId, requestId, purpose, model, expectedNano } = planned;
    const callId = uuidv7();
    const budget = BigInt(monthlyBudget) * nanoPerUsd;
    return this.database.transaction(async (tx) => {
      // Serialises calls, so that two never count on the same money.
      await tx.query(`SELECT pg_advisory_xact_lock(hashtext('evaluation'), $1)`, [organisationId]);
      const rows = await tx.query<unknown[]>(
        `INSERT INTO evaluation_call (call_id, organisation_id, request_id, purpose, model, expected_nano)
         SELECT $1, $2, $3, $4, $5, $6::bigint
          WHERE $6::bigint + coalesce((SELECT sum(coalesce(cost_nano, expected_nano)) FROM evaluation_call
                  WHERE organisation_id = $2 AND made_at >= date_trunc('month', now(), 'UTC')), 0) <= $7::bigint
         RETURNING call_id`,
        [callId, organisationId, requestId, purpose, model, expectedNano.toString(), budget.toString()],
      );
      return rows.length === 0 ? null : callId;
    }, NOT_ACTIVITY);
  }

  async end(callId: string, costNano: Nano): Promise<void> {
    await this.database.query('UPDATE evaluation_call SET cost_nano = $2 WHERE call_id = $1', [
      callId,
      costNano.toString(),
    ]);
  }

  /** Closes interrupted calls with the cost of their request records; calls without a record cost nothing. */
  async closeOpen(): Promise<number> {
    const [row] = await this.database.query<{ closed: number }>(
      `WITH closed AS (UPDATE evaluation_call c
          SET cost_nano = coalesce((SELECT sum(r.cost_nano) FROM request_record r
                WHERE r.request_id = c.call_id AND r.created_at >= c.made_at - interval '1 hour'), 0)
        WHERE c.cost_nano IS NULL AND c.made_at < now() - ${MAX_CALL_DURATION}
        RETURNING c.call_id)
       SELECT count(*)::integer AS closed FROM closed`,
    );
    return row?.closed ?? 0;
  }

  /** Returns the remaining shares of the month's budget and of the month; calls in progress count as spent. */
  async remaining(organisationId: number, monthlyBudget: number): Promise<RemainingBudget> {
    const [row] = await this.database.query<{ spent: string; time: number }>(
      `SELECT coalesce(sum(coalesce(c.cost_nano, c.expected_nano)), 0)::text AS spent,
              (1 - extract(epoch FROM now() - m.began)
                 / extract(epoch FROM date_add(m.began, '1 month', 'UTC') - m.began))::float8 AS time
         FROM (SELECT date_trunc('month', now(), 'UTC') AS began) AS m
         LEFT JOIN evaluation_call c ON c.organisation_id = $1 AND c.made_at >= m.began GROUP BY m.began`,
      [organisationId],
    );
    const budget = Number(BigInt(monthlyBudget) * nanoPerUsd);
    const money = budget === 0 ? 0 : 1 - Number(row?.spent ?? 0) / budget;
    return { money, time: row?.time ?? 1 };
  }

  /** Returns the spending since the instant, of one organisation or of all if null. */
  async spentSince(organisationId: number | null, since: Date): Promise<Nano> {
    const [row] = await this.database.query<{ spent: string }>(
      `SELECT coalesce(sum(cost_nano), 0)::text AS spent FROM evaluation_call
        WHERE made_at >= $2 AND ($1::integer IS NULL OR organisation_id = $1)`,
      [organisationId, since],
    );
    return BigInt(row?.spent ?? 0);
  }
}

export const NOT_ACTIVITY = { withoutActivity: 'evaluation is the operator’s own work' } as const;
