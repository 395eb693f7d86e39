import { differingGroups, keptRecords, type MoneyCheckQuery, sinceSeal } from './money-check';

const owners = ['key_id', 'user_id', 'organisation_id', 'department_id', 'project_id', 'wallet_id'];
const lane = ['model', 'served_model', 'supplier', 'region'];
const hourly = ['hour', ...owners, ...lane, 'key_model_id'];
const labelled = ['hour', 'kind', 'label', ...owners, ...lane];
const daily = ['day', 'dimension', 'number', 'name'];

/** Usage columns that are money, or that money is computed from; times and latencies are left out. */
const sumsOfRecords = {
  cost_nano: 'sum(cost_nano)',
  requests: 'count(*)',
  failures: 'count(code)',
  failovers: 'count(*) FILTER (WHERE failover)',
  input_tokens: 'sum(input_tokens)',
  cache_read_tokens: 'sum(cache_read_tokens)',
  cache_write_tokens: 'sum(cache_write_tokens::bigint + cache_write_long_tokens)',
  output_tokens: 'sum(output_tokens)',
  reasoning_tokens: 'sum(reasoning_tokens)',
  audio_tokens: 'sum(audio_input_tokens::bigint + audio_output_tokens)',
  image_tokens: 'sum(image_tokens)',
  image_output_tokens: 'sum(image_output_tokens)',
};
const sums = Object.keys(sumsOfRecords);
const recordSums = Object.values(sumsOfRecords).join(', ');
const hourSums = sums.map((sum) => `sum(${sum})`).join(', ');

const positions = (identity: readonly string[]): string => identity.map((_, index) => index + 1).join(', ');
const hourOfRecord = `date_trunc('hour', r.created_at, 'UTC')`;
const laneOfRecord =
  'CASE WHEN r.served_model IS NOT NULL THEN r.model END, r.served_model, r.supplier, r.region';
const ownersOf = (alias: string): string => owners.map((owner) => `${alias}.${owner}`).join(', ');

/**
 * An hour can get records long after it is over, so hours with new records are read completely. Dropped months are
 * skipped.
 */
const hoursSince = `
  WITH kept AS (${keptRecords}),
  settled AS MATERIALIZED (
    SELECT DISTINCT ${hourOfRecord} AS hour FROM request_record r WHERE settled_at >= ${sinceSeal}),
  touched AS (
    SELECT hour FROM settled, kept WHERE hour >= kept.since
    UNION SELECT hour FROM usage_hour, kept WHERE NOT isfinite(${sinceSeal}) AND hour >= kept.since)`;

const dimensions = ['served_model', 'supplier', 'region', 'key_id', 'project_id', 'user_id', 'wallet_id'];

/** GROUPING has one bit per dimension: the one that is summed by has a zero. */
const dimensionOf = `CASE GROUPING(${dimensions.join(', ')}) ${dimensions
  .map(
    (column, index) =>
      `WHEN ${2 ** dimensions.length - 1 - 2 ** (dimensions.length - 1 - index)} THEN '${column.replace(/^served_|_id$/, '')}'`,
  )
  .join(' ')} ELSE 'all' END`;

const daysOfHours = `
  SELECT m.day, ${dimensionOf}, coalesce(key_id, project_id, user_id, wallet_id), coalesce(served_model, supplier, region),
         ${hourSums}
    FROM usage_day_merged m JOIN usage_hour u ON u.hour >= m.day AND u.hour < m.day + interval '1 day'
   GROUP BY m.day, GROUPING SETS ((), ${dimensions.map((column) => `(${column})`).join(', ')})
  UNION ALL
  SELECT m.day, CASE GROUPING(label) WHEN 0 THEN kind ELSE 'any_' || kind END, NULL, label, ${hourSums}
    FROM usage_day_merged m JOIN usage_label_hour u ON u.hour >= m.day AND u.hour < m.day + interval '1 day'
   GROUP BY GROUPING SETS ((m.day, kind, label), (m.day, kind))`;

export const usageChecks: readonly MoneyCheckQuery[] = [
  {
    name: 'an hour of usage is the sum of its records',
    reads: 'since',
    sql: `${hoursSince} ${differingGroups(
      {
        expected: `
          SELECT touched.hour, ${ownersOf('r')}, ${laneOfRecord}, r.key_model_id, ${recordSums}
            FROM touched JOIN request_record r
              ON r.created_at >= touched.hour AND r.created_at < touched.hour + interval '1 hour'
           GROUP BY ${positions(hourly)}`,
        found: `
          SELECT ${hourly.map((column) => `u.${column}`).join(', ')}, ${sums.map((sum) => `u.${sum}`).join(', ')}
            FROM usage_hour u JOIN touched ON touched.hour = u.hour`,
      },
      hourly,
      sums,
    )}`,
  },
  {
    name: 'an hour of a tag or end user is the sum of its records',
    reads: 'full',
    sql: `WITH kept AS (${keptRecords}) ${differingGroups(
      {
        expected: `
          SELECT ${hourOfRecord}, l.kind, l.label, ${ownersOf('r')}, ${laneOfRecord}, ${recordSums}
            FROM kept JOIN request_record r ON r.created_at >= kept.since, record_labels(r.end_user, r.tags) AS l
           WHERE r.end_user IS NOT NULL OR r.tags IS NOT NULL GROUP BY ${positions(labelled)}`,
        found: `
          SELECT ${[...labelled, ...sums].map((column) => `u.${column}`).join(', ')}
            FROM kept JOIN usage_label_hour u ON u.hour >= kept.since`,
      },
      labelled,
      sums,
    )}`,
  },
  {
    name: 'a day of usage is the sum of its hours',
    reads: 'full',
    sql: differingGroups(
      {
        expected: daysOfHours,
        found: `
          SELECT ${[...daily, ...sums].map((column) => `d.${column}`).join(', ')}
            FROM usage_day d JOIN usage_day_merged m ON m.day = d.day`,
      },
      daily,
      sums,
    ),
  },
  {
    name: 'a record was charged by a mark-up of its organisation',
    reads: 'full',
    // A node learns of a new version within seconds; around that time either version might have applied.
    sql: `
      WITH version AS (
        SELECT organisation_id, factor, valid_from - interval '1 minute' AS since,
               coalesce(lead(valid_from) OVER (PARTITION BY organisation_id ORDER BY valid_from), 'infinity')
                 + interval '1 minute' AS until
          FROM organisation_markup)
      SELECT format('request %s', r.request_id) AS what, r.price_factor::text AS expected,
             coalesce((SELECT v.factor FROM version v
               WHERE v.organisation_id = r.organisation_id AND v.since <= r.created_at AND r.created_at < v.until
               ORDER BY v.factor = r.price_factor DESC LIMIT 1)::text, 'no mark-up') AS found
        FROM request_record r
       WHERE r.price_factor IS NOT NULL
         AND EXISTS (SELECT FROM organisation_markup m WHERE m.organisation_id = r.organisation_id)`,
  },
];
