import {
  columnOf,
  differingGroups,
  type MoneyCheckQuery,
  ownerColumns,
  scopes,
  sinceSeal,
} from './money-check';

/** Cost of the records settled since then, per scope and hour. */
export const recordedSince = (instant: string): string => `
  SELECT scope.kind, scope.owner_id, r.hour, sum(r.spent) AS spent
    FROM (SELECT date_trunc('hour', created_at, 'UTC') AS hour, ${ownerColumns.join(', ')},
                 sum(cost_nano) AS spent FROM request_record
           WHERE settled_at >= ${instant} AND isfinite(${instant}) AND cost_nano > 0
           GROUP BY 1, 2, 3, 4, 5, 6, 7) AS r
    CROSS JOIN LATERAL (VALUES ${scopes.map((scope) => `('${scope}', r.${columnOf(scope)})`).join(', ')}) AS scope (kind, owner_id)
   WHERE scope.owner_id IS NOT NULL GROUP BY scope.kind, scope.owner_id, r.hour`;

/** Usage of the scope of window `w` between two hours. Each branch reads its own index, or nothing. */
const usedBetween = (from: string, to: string): string => `
  coalesce((SELECT sum(used.cost_nano) FROM (${scopes
    .map(
      (
        scope,
      ) => `SELECT u.cost_nano FROM usage_hour u WHERE w.kind = '${scope}' AND u.${columnOf(scope)} = w.owner_id
        AND u.hour >= ${from} AND u.hour < ${to}`,
    )
    .join(' UNION ALL ')}) AS used), 0)`;

const windowName = `format('%s %s, %s from %s', w.kind, w.owner_id, w.period, w.starts_at)`;

const usedByRollingWindows = scopes
  .map(
    (scope) => `
      SELECT w.id, u.hour, sum(u.cost_nano) FROM spending_window w
        JOIN usage_hour u ON u.${columnOf(scope)} = w.owner_id AND u.hour >= w.starts_at
       WHERE w.kind = '${scope}' AND w.period = 'rolling' GROUP BY w.id, u.hour`,
  )
  .join(' UNION ALL ');

export const limitChecks: readonly MoneyCheckQuery[] = [
  {
    name: 'spent is the sum of the records',
    reads: 'since',
    // A sealed window is its seal plus the later records, minus the hours that a rolling window has lost since.
    sql: `
      WITH fresh AS MATERIALIZED (${recordedSince(sinceSeal)}),
      checked AS (
        SELECT w.*, seal.spent AS sealed, coalesce(seal.starts_at, w.starts_at) AS sealed_from
          FROM spending_window w
          LEFT JOIN money_seal_window seal ON seal.window_id = w.id AND isfinite(${sinceSeal})
         WHERE w.kind <> 'wallet')
      SELECT ${windowName} AS what,
             (CASE WHEN w.sealed IS NULL THEN ${usedBetween('w.starts_at', 'w.ends_at')}
                   ELSE w.sealed - ${usedBetween('w.sealed_from', 'w.starts_at')}
                        + coalesce((SELECT sum(f.spent) FROM fresh f
                            WHERE f.kind = w.kind AND f.owner_id = w.owner_id
                              AND f.hour >= w.sealed_from AND f.hour < w.ends_at), 0) END)::text AS expected,
             CASE WHEN w.period = 'rolling' AND w.spent <> coalesce(
                    (SELECT sum(b.spent) FROM spending_bucket b WHERE b.window_id = w.id), 0)
                  THEN 'other than its buckets' ELSE w.spent::text END AS found
        FROM checked w`,
  },
  {
    name: 'escrowed is the sum of the slices',
    reads: 'all',
    sql: `
      SELECT ${windowName} AS what,
             coalesce(sum(s.amount), 0)::text AS expected, w.escrowed::text AS found
        FROM spending_window w LEFT JOIN escrow_slice s ON s.window_id = w.id
       GROUP BY w.id, w.kind, w.owner_id, w.period, w.starts_at, w.escrowed`,
  },
  {
    name: 'a slice is held by a node, of a window',
    reads: 'full',
    sql: `
      SELECT format('slice of %s, lease %s, window %s', s.amount, s.lease_id, s.window_id) AS what,
             'both' AS expected,
             concat_ws(', ', CASE WHEN l.id IS NULL THEN 'no such lease' END,
                             CASE WHEN w.id IS NULL THEN 'no such window' END) AS found
        FROM escrow_slice s LEFT JOIN escrow_lease l ON l.id = s.lease_id
        LEFT JOIN spending_window w ON w.id = s.window_id
       WHERE l.id IS NULL OR w.id IS NULL`,
  },
  {
    name: 'a window allows what its rule and raises say',
    reads: 'full',
    // The window still contains a raise that ran out while no node was running to end it.
    sql: `
      WITH raised AS (
        SELECT kind, owner_id, coalesce(sum(amount_nano) FILTER (WHERE ends_at > now()), 0) AS now,
               sum(amount_nano) AS standing
          FROM budget_raise WHERE ended_at IS NULL GROUP BY kind, owner_id)
      SELECT ${windowName} AS what,
             coalesce((r.limit_nano + coalesce(raised.now, 0))::text, 'a rule') AS expected,
             CASE WHEN r.kind IS NULL THEN 'none' ELSE w.limit_nano::text END AS found
        FROM spending_window w LEFT JOIN spending_rule r ON r.kind = w.kind AND r.owner_id = w.owner_id
        LEFT JOIN raised ON raised.kind = w.kind AND raised.owner_id = w.owner_id
       WHERE w.kind <> 'wallet' AND (r.kind IS NULL OR (
             r.period = w.period AND r.limit_nano IS NOT NULL AND w.ends_at > now()
             AND w.limit_nano NOT IN (r.limit_nano + coalesce(raised.now, 0),
                                      r.limit_nano + coalesce(raised.standing, 0))))`,
  },
  {
    name: 'a rolling budget has spent each hour what was used in it',
    reads: 'full',
    sql: differingGroups(
      {
        expected: usedByRollingWindows,
        found: 'SELECT window_id, hour, spent FROM spending_bucket',
      },
      ['window_id', 'hour'],
      ['cost_nano'],
    ),
  },
  {
    name: 'what a wallet spent is the usage it paid for',
    reads: 'full',
    sql: `
      SELECT format('wallet %s', coalesce(w.owner_id, u.wallet_id)) AS what,
             coalesce(u.spent, 0)::text AS expected, coalesce(w.spent, 0)::text AS found
        FROM (SELECT wallet_id, sum(cost_nano) AS spent FROM usage_hour
               WHERE wallet_id IS NOT NULL GROUP BY wallet_id) AS u
        FULL JOIN (SELECT * FROM spending_window WHERE kind = 'wallet') AS w ON w.owner_id = u.wallet_id`,
  },
];
