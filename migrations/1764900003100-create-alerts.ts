import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Alerts of organisations and, where there is none, of the platform: what fires, who is told by which channel, and by
 * which rules. Sums of days and what nodes say of themselves are what alerts are found in.
 */
export class CreateAlerts1764900003100 implements MigrationInterface {
  readonly name = 'CreateAlerts1764900003100';

  async up(runner: QueryRunner): Promise<void> {
    for (const part of [rules, channels, alerts, sources, rights]) await runner.query(part);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TABLE alert_delivery, alert, alert_channel, alert_rule, alert_setting, spend_day, node_state;
    `);
  }
}

const owner = (table: string): string => `organisation_id integer
      CONSTRAINT ${table}_organisation_fkey REFERENCES organisation ON DELETE CASCADE`;

const rules = `
  CREATE TABLE alert_setting (
    ${owner('alert_setting')},
    time_zone text NOT NULL DEFAULT 'UTC',
    -- Minutes since midnight in that zone; without them no hour is quiet.
    quiet_from smallint CHECK (quiet_from BETWEEN 0 AND 1439),
    quiet_to smallint CHECK (quiet_to BETWEEN 0 AND 1439),
    urgent_breaks_quiet boolean NOT NULL DEFAULT true,
    -- An alert that fires on is told again after so long; 0 for never.
    repeat_hours smallint NOT NULL DEFAULT 24 CHECK (repeat_hours BETWEEN 0 AND 720),
    CONSTRAINT alert_setting_once UNIQUE NULLS NOT DISTINCT (organisation_id),
    CONSTRAINT alert_setting_quiet_whole CHECK ((quiet_from IS NULL) = (quiet_to IS NULL))
  );
  CREATE TABLE alert_rule (
    ${owner('alert_rule')},
    kind text NOT NULL CHECK (length(kind) BETWEEN 1 AND 60),
    enabled boolean NOT NULL,
    parameters jsonb NOT NULL DEFAULT '{}',
    -- Without them every channel of the owner is meant.
    channels integer[],
    muted_until timestamptz,
    CONSTRAINT alert_rule_once UNIQUE NULLS NOT DISTINCT (organisation_id, kind)
  );
`;

const channels = `
  CREATE TABLE alert_channel (
    id integer GENERATED ALWAYS AS IDENTITY CONSTRAINT alert_channel_pkey PRIMARY KEY,
    ${owner('alert_channel')},
    kind text NOT NULL CONSTRAINT alert_channel_kind_known
      CHECK (kind IN ('mail', 'webhook', 'slack', 'teams', 'pagerduty')),
    name text NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
    -- What may be shown of the address.
    host text NOT NULL DEFAULT '',
    -- Address and keys.
    secret bytea,
    language text NOT NULL DEFAULT 'en',
    -- Whom a channel of mails writes to.
    audience text NOT NULL DEFAULT 'owners'
      CONSTRAINT alert_channel_audience_known CHECK (audience IN ('owners', 'administrators')),
    least_severity text NOT NULL DEFAULT 'info'
      CONSTRAINT alert_channel_severity_known CHECK (least_severity IN ('info', 'warning', 'urgent')),
    enabled boolean NOT NULL DEFAULT true,
    created_at timestamptz NOT NULL DEFAULT now(),
    succeeded_at timestamptz,
    failed_at timestamptz,
    last_error text,
    CONSTRAINT alert_channel_secret_where_sent CHECK ((kind = 'mail') = (secret IS NULL))
  );
  CREATE INDEX alert_channel_by_organisation ON alert_channel (organisation_id, id);
  INSERT INTO alert_channel (kind, name, least_severity) VALUES ('mail', 'Mail', 'urgent');
`;

const alerts = `
  CREATE TABLE alert (
    id bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT alert_pkey PRIMARY KEY,
    ${owner('alert')},
    department_id integer CONSTRAINT alert_department_fkey REFERENCES department ON DELETE SET NULL,
    kind text NOT NULL,
    subject text NOT NULL,
    severity text NOT NULL CONSTRAINT alert_severity_known CHECK (severity IN ('info', 'warning', 'urgent')),
    facts jsonb NOT NULL,
    since timestamptz NOT NULL,
    -- It was last found to be so.
    seen_at timestamptz NOT NULL,
    -- It has been found to be over since then.
    good_since timestamptz,
    told_at timestamptz,
    told_severity text,
    acknowledged_at timestamptz,
    acknowledged_by integer CONSTRAINT alert_acknowledged_by_fkey REFERENCES user_account ON DELETE SET NULL,
    resolved_at timestamptz,
    state text NOT NULL GENERATED ALWAYS AS (CASE WHEN resolved_at IS NOT NULL THEN 'resolved'
      WHEN acknowledged_at IS NOT NULL THEN 'acknowledged' ELSE 'firing' END) STORED
  );
  CREATE UNIQUE INDEX alert_under_way ON alert (kind, organisation_id, subject) NULLS NOT DISTINCT
    WHERE resolved_at IS NULL;
  CREATE INDEX alert_by_time ON alert (organisation_id, since DESC, id DESC);
  CREATE INDEX alert_resolved ON alert (resolved_at) WHERE resolved_at IS NOT NULL;
  CREATE TABLE alert_delivery (
    id bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT alert_delivery_pkey PRIMARY KEY,
    alert_id bigint NOT NULL CONSTRAINT alert_delivery_alert_fkey REFERENCES alert ON DELETE CASCADE,
    channel_id integer NOT NULL CONSTRAINT alert_delivery_channel_fkey REFERENCES alert_channel ON DELETE CASCADE,
    event text NOT NULL CONSTRAINT alert_delivery_event_known
      CHECK (event IN ('triggered', 'raised', 'repeated', 'acknowledged', 'resolved')),
    created_at timestamptz NOT NULL DEFAULT now(),
    due_at timestamptz NOT NULL DEFAULT now(),
    attempts smallint NOT NULL DEFAULT 0,
    outcome text CONSTRAINT alert_delivery_outcome_known CHECK (outcome IN ('delivered', 'failed', 'dropped')),
    last_error text,
    done_at timestamptz,
    CONSTRAINT alert_delivery_done_whole CHECK ((outcome IS NULL) = (done_at IS NULL))
  );
  CREATE INDEX alert_delivery_by_alert ON alert_delivery (alert_id, channel_id, id);
  CREATE INDEX alert_delivery_by_channel ON alert_delivery (channel_id);
  CREATE INDEX alert_delivery_waiting ON alert_delivery (due_at, id) WHERE outcome IS NULL;
`;

const sources = `
  CREATE TABLE spend_day (
    scope text NOT NULL CHECK (scope IN ('all', 'organisation', 'department', 'project', 'user', 'key', 'wallet')),
    -- The row of the scope; 0 is the whole platform, and the mark of a day that is summed.
    number bigint NOT NULL,
    day date NOT NULL,
    cost_nano bigint NOT NULL,
    CONSTRAINT spend_day_pkey PRIMARY KEY (scope, number, day)
  );
  CREATE INDEX spend_day_by_day ON spend_day (day);
  CREATE TABLE node_state (
    node text CONSTRAINT node_state_pkey PRIMARY KEY CHECK (length(node) BETWEEN 1 AND 300),
    seen_at timestamptz NOT NULL DEFAULT now(),
    disk_free double precision NOT NULL,
    disk_free_bytes bigint NOT NULL,
    journal_ms bigint NOT NULL
  );
`;

const rights = `
  GRANT SELECT, INSERT, UPDATE, DELETE ON alert_setting, alert_rule, alert_channel, alert, alert_delivery, spend_day,
    node_state TO switchboard_app;
`;
