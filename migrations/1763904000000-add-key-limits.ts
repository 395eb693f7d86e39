import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Limits of keys beside rate and budget: tokens a minute, parallel calls, a budget a model, weekly and one-off
 * periods, budgets raised for a while, and who paused a key.
 */
export class AddKeyLimits1763904000000 implements MigrationInterface {
  readonly name = 'AddKeyLimits1763904000000';

  async up(runner: QueryRunner): Promise<void> {
    for (const part of [keys, rules, modelBudgets, raises]) await runner.query(part);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      LOCK TABLE request_record IN SHARE ROW EXCLUSIVE MODE;
      DROP TABLE budget_raise, key_model;
      DELETE FROM escrow_slice s USING spending_window w
       WHERE w.id = s.window_id AND (w.kind = 'key_model' OR w.period IN ('weekly', 'total'));
      DELETE FROM spending_window WHERE kind = 'key_model' OR period IN ('weekly', 'total');
      DELETE FROM spending_rule WHERE kind = 'key_model' OR period IN ('weekly', 'total');
      ${knownRules(kinds, periods)}
      CREATE TEMPORARY TABLE summed ON COMMIT DROP AS
        SELECT ${[...identity, ...sums.map(summed)].join(', ')} FROM usage_hour
         GROUP BY ${identity.map((_, place) => place + 1).join(', ')};
      TRUNCATE usage_hour;
      ALTER TABLE usage_hour DROP CONSTRAINT usage_hour_once, DROP COLUMN key_model_id,
        ADD CONSTRAINT usage_hour_once UNIQUE NULLS NOT DISTINCT (${identity.join(', ')});
      INSERT INTO usage_hour (${[...identity, ...sums].join(', ')}) SELECT * FROM summed;
      ALTER TABLE request_record DROP COLUMN key_model_id;
      ALTER TABLE api_key DROP COLUMN rate_limit_tpm, DROP COLUMN max_parallel,
        DROP COLUMN paused_by, DROP COLUMN paused_at, DROP COLUMN pause_reason,
        DROP COLUMN limits_locked_by, DROP COLUMN limits_locked_at;
    `);
  }
}

const keys = `
  ALTER TABLE api_key
    ADD COLUMN rate_limit_tpm integer CONSTRAINT api_key_tokens_positive CHECK (rate_limit_tpm > 0),
    ADD COLUMN max_parallel   integer CONSTRAINT api_key_parallel_positive CHECK (max_parallel > 0),
    ADD COLUMN paused_by      integer CONSTRAINT api_key_paused_by_fkey REFERENCES user_account ON DELETE SET NULL,
    ADD COLUMN paused_at      timestamptz,
    ADD COLUMN pause_reason   text,
    ADD COLUMN limits_locked_by integer
      CONSTRAINT api_key_limits_locked_by_fkey REFERENCES user_account ON DELETE SET NULL,
    ADD COLUMN limits_locked_at timestamptz;
`;

const kinds = ['key', 'project', 'department', 'user', 'organisation', 'wallet'];
const periods = ['daily', 'monthly', 'rolling', 'lifetime'];
const listed = (names: readonly string[]): string => names.map((name) => `'${name}'`).join(', ');

const knownRules = (knownKinds: readonly string[], knownPeriods: readonly string[]): string => `
  ALTER TABLE spending_rule
    DROP CONSTRAINT spending_rule_kind_known, DROP CONSTRAINT spending_rule_period_known,
    ADD CONSTRAINT spending_rule_kind_known CHECK (kind IN (${listed(knownKinds)})),
    ADD CONSTRAINT spending_rule_period_known CHECK (period IN (${listed(knownPeriods)}));
`;

const rules = knownRules([...kinds, 'key_model'], [...periods, 'weekly', 'total']);

const identity = [
  'hour',
  ...['key_id', 'user_id', 'organisation_id', 'department_id', 'project_id', 'wallet_id'],
  ...['model', 'served_model', 'supplier', 'region'],
];
const highest = ['highest_cost_nano', 'highest_latency_ms'];
const sums = [
  ...['requests', 'failures', 'failovers', 'input_tokens', 'cache_read_tokens', 'cache_write_tokens'],
  ...['output_tokens', 'reasoning_tokens', 'audio_tokens', 'image_tokens', 'image_output_tokens'],
  ...['latency_ms', 'first_token_ms', 'first_tokens', 'cost_nano'],
  ...highest,
];
const summed = (name: string): string =>
  `${highest.includes(name) ? 'max' : 'sum'}(${name})::bigint AS ${name}`;

/** One row a key and model that ever had a budget of its own; records name it, so its spending is theirs exactly. */
const modelBudgets = `
  CREATE TABLE key_model (
    id     bigint  GENERATED ALWAYS AS IDENTITY CONSTRAINT key_model_pkey PRIMARY KEY,
    key_id integer NOT NULL CONSTRAINT key_model_key_fkey REFERENCES api_key,
    model  text    NOT NULL,
    CONSTRAINT key_model_once UNIQUE (key_id, model)
  );
  GRANT SELECT, INSERT ON key_model TO switchboard_app;

  LOCK TABLE request_record IN SHARE ROW EXCLUSIVE MODE;
  ALTER TABLE request_record ADD COLUMN key_model_id bigint;
  ALTER TABLE usage_hour ADD COLUMN key_model_id bigint, DROP CONSTRAINT usage_hour_once,
    ADD CONSTRAINT usage_hour_once UNIQUE NULLS NOT DISTINCT (${identity.join(', ')}, key_model_id);
  CREATE INDEX usage_hour_by_key_model ON usage_hour (key_model_id, hour) WHERE key_model_id IS NOT NULL;
`;

const raises = `
  CREATE TABLE budget_raise (
    id          bigint      GENERATED ALWAYS AS IDENTITY CONSTRAINT budget_raise_pkey PRIMARY KEY,
    kind        text        NOT NULL,
    owner_id    bigint      NOT NULL,
    amount_nano bigint      NOT NULL,
    reason      text        NOT NULL,
    ends_at     timestamptz NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    created_by  integer     CONSTRAINT budget_raise_created_by_fkey REFERENCES user_account ON DELETE SET NULL,
    ended_at    timestamptz,
    CONSTRAINT budget_raise_rule_fkey FOREIGN KEY (kind, owner_id) REFERENCES spending_rule,
    CONSTRAINT budget_raise_positive CHECK (amount_nano > 0),
    CONSTRAINT budget_raise_not_of_wallets CHECK (kind <> 'wallet')
  );
  CREATE INDEX budget_raise_by_owner ON budget_raise (kind, owner_id, id DESC);
  CREATE INDEX budget_raise_open ON budget_raise (ends_at) WHERE ended_at IS NULL;
  GRANT SELECT ON budget_raise TO switchboard_app;
`;
