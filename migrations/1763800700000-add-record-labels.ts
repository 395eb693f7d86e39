import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Who a request was made for and what it is sorted by, and hours of usage that know regions, failovers, latency and
 * these labels. Hours whose records are all kept are summed anew; older ones stay without a region.
 */
export class AddRecordLabels1763800700000 implements MigrationInterface {
  readonly name = 'AddRecordLabels1763800700000';

  async up(runner: QueryRunner): Promise<void> {
    for (const part of [columns, labels, refilling, rights]) await runner.query(part);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      LOCK TABLE request_record IN SHARE ROW EXCLUSIVE MODE;
      DROP TABLE usage_label_hour;
      ALTER TABLE request_record DROP COLUMN end_user, DROP COLUMN tags;
      CREATE TEMPORARY TABLE summed ON COMMIT DROP AS
        SELECT ${[...identity, ...earlierSums.map((name) => `sum(${name})::bigint AS ${name}`)].join(', ')}
          FROM usage_hour GROUP BY ${identity.map((_, place) => place + 1).join(', ')};
      TRUNCATE usage_hour;
      ALTER TABLE usage_hour DROP CONSTRAINT usage_hour_once,
        DROP COLUMN region, ${newSums.map((name) => `DROP COLUMN ${name}`).join(', ')},
        ADD CONSTRAINT usage_hour_once UNIQUE NULLS NOT DISTINCT (${identity.join(', ')});
      INSERT INTO usage_hour (${[...identity, ...earlierSums].join(', ')}) SELECT * FROM summed;
      DROP TRIGGER request_record_usage ON request_record;
      CREATE TRIGGER request_record_usage AFTER INSERT ON request_record
        REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION add_usage_hours();
    `);
  }
}

const owners = ['key_id', 'user_id', 'organisation_id', 'department_id', 'project_id', 'wallet_id'];
const identity = ['hour', ...owners, 'model', 'served_model', 'supplier'];
const earlierSums = [
  'requests',
  'failures',
  'input_tokens',
  'cache_read_tokens',
  'cache_write_tokens',
  'output_tokens',
  'reasoning_tokens',
  'audio_tokens',
  'image_tokens',
  'cost_nano',
];
const newSums = [
  'failovers',
  'image_output_tokens',
  'latency_ms',
  'first_token_ms',
  'first_tokens',
  'highest_cost_nano',
  'highest_latency_ms',
];

const columns = `
  LOCK TABLE request_record IN SHARE ROW EXCLUSIVE MODE;
  ALTER TABLE request_record ADD COLUMN end_user text, ADD COLUMN tags jsonb;
  ALTER TABLE usage_hour ADD COLUMN region text,
    ${newSums.map((name) => `ADD COLUMN ${name} bigint NOT NULL DEFAULT 0`).join(', ')},
    DROP CONSTRAINT usage_hour_once,
    ADD CONSTRAINT usage_hour_once UNIQUE NULLS NOT DISTINCT (${identity.join(', ')}, region);
`;

const labels = `
  CREATE TABLE usage_label_hour (
    hour timestamptz NOT NULL,
    kind text NOT NULL CONSTRAINT usage_label_hour_kind CHECK (kind IN ('end_user', 'tag')),
    label text NOT NULL,
    ${owners.map((name) => `${name} bigint,`).join(' ')}
    model text, served_model text, supplier text, region text,
    ${[...earlierSums, ...newSums].map((name) => `${name} bigint NOT NULL,`).join(' ')}
    CONSTRAINT usage_label_hour_once UNIQUE NULLS NOT DISTINCT (hour, kind, label, ${identity.slice(1).join(', ')}, region)
  ) WITH (fillfactor = 70);
  CREATE INDEX usage_label_hour_by_label ON usage_label_hour (kind, label, hour);
  ${['key', 'user', 'organisation', 'project']
    .map(
      (owner) => `CREATE INDEX usage_label_hour_by_${owner} ON usage_label_hour (${owner}_id, kind, hour);`,
    )
    .join('\n  ')}
`;

const allSums = [
  ['requests', 'count(*)'],
  ['failures', 'count(code)'],
  ['failovers', 'count(*) FILTER (WHERE failover)'],
  ['input_tokens', 'sum(input_tokens)'],
  ['cache_read_tokens', 'sum(cache_read_tokens)'],
  ['cache_write_tokens', 'sum(cache_write_tokens::bigint + cache_write_long_tokens)'],
  ['output_tokens', 'sum(output_tokens)'],
  ['reasoning_tokens', 'sum(reasoning_tokens)'],
  ['audio_tokens', 'sum(audio_input_tokens::bigint + audio_output_tokens)'],
  ['image_tokens', 'sum(image_tokens)'],
  ['image_output_tokens', 'sum(image_output_tokens)'],
  ['latency_ms', 'sum(latency_ms)'],
  ['first_token_ms', 'coalesce(sum(first_token_ms), 0)'],
  ['first_tokens', 'count(first_token_ms)'],
  ['cost_nano', 'sum(cost_nano)'],
  ['highest_cost_nano', 'max(cost_nano)'],
  ['highest_latency_ms', 'max(latency_ms)'],
] as const;

/** From the first month of which all records are kept; the lock above lasts until this transaction ends. */
const refilling = `
  DO $$
  DECLARE
    kept timestamptz := (SELECT date_trunc('month', min(created_at), 'UTC') FROM request_record);
  BEGIN
    DELETE FROM usage_hour WHERE hour >= kept;
    INSERT INTO usage_hour (${identity.join(', ')}, region, ${allSums.map(([name]) => name).join(', ')})
    SELECT date_trunc('hour', created_at, 'UTC'), ${owners.join(', ')},
           CASE WHEN served_model IS NOT NULL THEN model END, served_model, supplier, region,
           ${allSums.map(([, sum]) => sum).join(', ')}
      FROM request_record WHERE created_at >= kept
     GROUP BY ${[...identity, 'region'].map((_, place) => place + 1).join(', ')};
  END $$;
  DROP TRIGGER request_record_usage ON request_record;
  CREATE TRIGGER request_record_usage AFTER INSERT ON request_record
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION add_record_usage();
`;

/** Labels are words of callers: the application forgets them together with the records they came from. */
const rights = `GRANT SELECT, DELETE ON usage_label_hour TO switchboard_app`;
