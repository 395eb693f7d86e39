import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What was used, hour by hour. A trigger adds every inserted record, whichever way it came, so the sums are those of
 * the records at any moment. New windows and the state of a limit are read from here instead of from the records.
 */
export class CreateUsageHours1763700521000 implements MigrationInterface {
  readonly name = 'CreateUsageHours1763700521000';

  async up(runner: QueryRunner): Promise<void> {
    for (const part of [tables, adding, filling, spend, seals, rights]) await runner.query(part);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TRIGGER request_record_usage ON request_record;
      DROP FUNCTION add_usage_hours();
      ${spendFromRecords}
      DROP TABLE usage_hour, money_seal, money_seal_account;
      DROP INDEX ledger_transaction_by_time, request_record_by_settled_at;
    `);
  }
}

const scopes = ['key_id', 'user_id', 'organisation_id', 'department_id', 'project_id', 'wallet_id'];
const names = ['model', 'served_model', 'supplier'];
const sums = [
  ['requests', 'count(*)'],
  ['failures', 'count(code)'],
  ['input_tokens', 'sum(input_tokens)'],
  ['cache_read_tokens', 'sum(cache_read_tokens)'],
  ['cache_write_tokens', 'sum(cache_write_tokens::bigint + cache_write_long_tokens)'],
  ['output_tokens', 'sum(output_tokens)'],
  ['reasoning_tokens', 'sum(reasoning_tokens)'],
  ['audio_tokens', 'sum(audio_input_tokens::bigint + audio_output_tokens)'],
  ['image_tokens', 'sum(image_tokens)'],
  ['cost_nano', 'sum(cost_nano)'],
] as const;

const identity = ['hour', ...scopes, ...names].join(', ');

const tables = `
  CREATE TABLE usage_hour (
    hour timestamptz NOT NULL,
    ${scopes.map((scope) => `${scope} bigint,`).join(' ')}
    ${names.map((name) => `${name} text,`).join(' ')}
    ${sums.map(([name]) => `${name} bigint NOT NULL,`).join(' ')}
    CONSTRAINT usage_hour_once UNIQUE NULLS NOT DISTINCT (${identity})
  ) WITH (fillfactor = 70);
  ${['key', 'user', 'organisation', 'department', 'project']
    .map((scope) => `CREATE INDEX usage_hour_by_${scope} ON usage_hour (${scope}_id, hour);`)
    .join('\n  ')}
`;

/** A name that a caller made up is not kept: only what a lane served. */
const summed = (source: string): string => `
  SELECT date_trunc('hour', created_at, 'UTC') AS hour, ${scopes.join(', ')},
         CASE WHEN served_model IS NOT NULL THEN model END, served_model, supplier,
         ${sums.map(([, sum]) => sum).join(', ')}
    FROM ${source} GROUP BY 1, ${scopes.map((_, place) => place + 2).join(', ')}, 8, 9, 10`;

const columns = `${identity}, ${sums.map(([name]) => name).join(', ')}`;

/** Rows are added to in one order, so that two nodes that settle at once wait for one another and never in a circle. */
const adding = `
  CREATE FUNCTION add_usage_hours() RETURNS trigger
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  BEGIN
    INSERT INTO usage_hour AS u (${columns}) ${summed('added')}
      ORDER BY 1, ${[...scopes, ...names].map((_, place) => place + 2).join(', ')}
    ON CONFLICT ON CONSTRAINT usage_hour_once DO UPDATE SET
      ${sums.map(([name]) => `${name} = u.${name} + excluded.${name}`).join(', ')};
    RETURN NULL;
  END $$;
  CREATE TRIGGER request_record_usage AFTER INSERT ON request_record
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION add_usage_hours();
`;

/** The trigger's lock lasts until this transaction ends: settlements wait meanwhile, in their journals. */
const filling = `INSERT INTO usage_hour (${columns}) ${summed('request_record')}`;

const spend = `
  CREATE OR REPLACE FUNCTION recorded_spend(p_kind text, p_owner bigint, p_from timestamptz, p_to timestamptz)
  RETURNS TABLE (hour timestamptz, spent bigint) LANGUAGE plpgsql STABLE AS $$
  BEGIN
    RETURN QUERY EXECUTE format(
      'SELECT u.hour, sum(u.cost_nano)::bigint FROM usage_hour u
        WHERE u.%I = $1 AND u.hour >= $2 AND u.hour < $3 GROUP BY 1', p_kind || '_id')
      USING p_owner, p_from, p_to;
  END $$;
`;

const spendFromRecords = `
  CREATE OR REPLACE FUNCTION recorded_spend(p_kind text, p_owner bigint, p_from timestamptz, p_to timestamptz)
  RETURNS TABLE (hour timestamptz, spent bigint) LANGUAGE plpgsql STABLE AS $$
  BEGIN
    RETURN QUERY EXECUTE format(
      'SELECT date_trunc(''hour'', created_at, ''UTC''), sum(cost_nano)::bigint FROM request_record
        WHERE %I = $1 AND created_at >= $2 AND created_at < $3 GROUP BY 1', p_kind || '_id')
      USING p_owner, p_from, p_to;
  END $$;
`;

/** What was verified up to. Rows are written in the order of time, so a few blocks tell what came since. */
const seals = `
  CREATE INDEX ledger_transaction_by_time ON ledger_transaction USING brin (created_at) WITH (pages_per_range = 16);
  CREATE INDEX request_record_by_settled_at ON request_record USING brin (settled_at) WITH (pages_per_range = 16);
  CREATE TABLE money_seal (
    only_one  boolean     CONSTRAINT money_seal_pkey PRIMARY KEY DEFAULT true CONSTRAINT money_seal_one CHECK (only_one),
    sealed_to timestamptz NOT NULL
  );
  CREATE TABLE money_seal_account (
    account_id bigint CONSTRAINT money_seal_account_pkey PRIMARY KEY
                      CONSTRAINT money_seal_account_fkey REFERENCES ledger_account,
    balance    bigint NOT NULL,
    spent      bigint NOT NULL
  );
`;

const rights = `
  REVOKE ALL ON FUNCTION add_usage_hours() FROM PUBLIC;
  GRANT SELECT ON usage_hour TO switchboard_app;
  GRANT SELECT, INSERT, UPDATE ON money_seal, money_seal_account TO switchboard_app;
`;
