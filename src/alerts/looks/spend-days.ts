import { Injectable } from '@nestjs/common';
import { DAY_MS, HOUR_MS } from '../../kernel';
import { Database } from '../../platform';
import { HISTORY_DAYS, type SpentDay } from '../statistics/spending';

export type SpendScope = 'organisation' | 'department' | 'project' | 'user' | 'key' | 'wallet';

export interface SpendOwner {
  readonly scope: SpendScope;
  readonly number: string;
}

export interface Spending {
  readonly history: readonly SpentDay[];
  /** Nano-dollars, like the history. */
  readonly today: number;
}

const MAX_RECORD_DELAY_MS = 3 * HOUR_MS;
const MAX_DAYS_PER_RUN = 14;

const SUM_DAY = `
  INSERT INTO spend_day (scope, number, day, cost_nano)
  SELECT CASE GROUPING(organisation_id, department_id, project_id, user_id, key_id, wallet_id)
           WHEN 31 THEN 'organisation' WHEN 47 THEN 'department' WHEN 55 THEN 'project' WHEN 59 THEN 'user'
           WHEN 61 THEN 'key' WHEN 62 THEN 'wallet' ELSE 'all' END,
         coalesce(organisation_id, department_id, project_id, user_id, key_id, wallet_id, 0),
         ($1::timestamptz AT TIME ZONE 'UTC')::date, coalesce(sum(cost_nano), 0)
    FROM usage_hour WHERE hour >= $1 AND hour < $1::timestamptz + interval '1 day'
   GROUP BY GROUPING SETS ((), (organisation_id), (department_id), (project_id), (user_id), (key_id), (wallet_id))
  HAVING GROUPING(organisation_id, department_id, project_id, user_id, key_id, wallet_id) = 63
      OR (coalesce(organisation_id, department_id, project_id, user_id, key_id, wallet_id) IS NOT NULL
          AND sum(cost_nano) > 0)
  ON CONFLICT ON CONSTRAINT spend_day_pkey DO UPDATE SET cost_nano = excluded.cost_nano`;

const COLUMNS: readonly SpendScope[] = ['organisation', 'department', 'project', 'user', 'key'];

const todayByColumn = COLUMNS.map(
  (scope) => `
    SELECT a.place, (SELECT sum(u.cost_nano) FROM usage_hour u WHERE u.${scope}_id = a.number AND u.hour >= $3) AS spent
      FROM asked a WHERE a.scope = '${scope}'`,
).join(' UNION ALL ');

const TODAY = `
  WITH asked AS (SELECT * FROM unnest($1::text[], $2::bigint[]) WITH ORDINALITY AS a (scope, number, place)),
       wallets AS (SELECT u.wallet_id, sum(u.cost_nano) AS spent FROM usage_hour u
                    WHERE u.hour >= $3 AND u.wallet_id IN (SELECT number FROM asked WHERE scope = 'wallet') GROUP BY 1)
  ${todayByColumn}
  UNION ALL SELECT a.place, w.spent FROM asked a JOIN wallets w ON w.wallet_id = a.number WHERE a.scope = 'wallet'`;

const HISTORY = `
  SELECT a.place, (extract(epoch FROM d.day) * 1000)::float8 AS at, d.cost_nano::float8 AS spent
    FROM unnest($1::text[], $2::bigint[]) WITH ORDINALITY AS a (scope, number, place)
    JOIN spend_day d ON d.scope = a.scope AND d.number = a.number AND d.day >= $3::date`;

const startOf = (at: number): number => Math.floor(at / DAY_MS) * DAY_MS;
const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10);

/** Spending per UTC day: stored sums of finished days, and the current day from hourly usage. */
@Injectable()
export class SpendDays {
  constructor(private readonly database: Database) {}

  async sumFinishedDays(now: Date): Promise<void> {
    const last = startOf(now.getTime() - MAX_RECORD_DELAY_MS) - DAY_MS;
    const summedDays = await this.loadSummedDays(now);
    for (let back = 0, done = 0; back < HISTORY_DAYS && done < MAX_DAYS_PER_RUN; back += 1) {
      const at = last - back * DAY_MS;
      if (summedDays.has(at)) continue;
      await this.database.query(SUM_DAY, [new Date(at)]);
      done += 1;
    }
    await this.database.query('DELETE FROM spend_day WHERE day < $1::date', [
      dayOf(last - HISTORY_DAYS * DAY_MS),
    ]);
  }

  /**
   * Returns spending in the order of the owners. A summed day without a row counts as zero; unsummed days are left out.
   */
  async of(owners: readonly SpendOwner[], now: Date): Promise<Spending[]> {
    if (owners.length === 0) return [];
    const startOfToday = startOf(now.getTime());
    const parameters = [owners.map(({ scope }) => scope), owners.map(({ number }) => number)];
    const [summedDays, past, present] = await Promise.all([
      this.loadSummedDays(now),
      this.database.query<{ place: string; at: number; spent: number }>(HISTORY, [
        ...parameters,
        dayOf(startOfToday - (HISTORY_DAYS + 1) * DAY_MS),
      ]),
      this.database.query<{ place: string; spent: string | null }>(TODAY, [
        ...parameters,
        new Date(startOfToday),
      ]),
    ]);
    const days = [...summedDays].sort((one, other) => one - other);
    const costs = Map.groupBy(past, ({ place }) => Number(place));
    const todays = new Map(present.map(({ place, spent }) => [Number(place), Number(spent ?? 0)]));
    return owners.map((_, index) => {
      const spent = new Map((costs.get(index + 1) ?? []).map((row) => [row.at, row.spent]));
      return {
        history: days.map((at) => ({ at, spent: spent.get(at) ?? 0 })),
        today: todays.get(index + 1) ?? 0,
      };
    });
  }

  private async loadSummedDays(now: Date): Promise<Set<number>> {
    const rows = await this.database.query<{ at: number }>(
      `SELECT (extract(epoch FROM day) * 1000)::float8 AS at FROM spend_day
        WHERE scope = 'all' AND number = 0 AND day >= $1::date AND day < $2::date`,
      [dayOf(startOf(now.getTime()) - (HISTORY_DAYS + 1) * DAY_MS), dayOf(startOf(now.getTime()))],
    );
    return new Set(rows.map(({ at }) => at));
  }
}
