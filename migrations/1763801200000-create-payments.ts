import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Money that comes through the payment processor. Events are facts that only grow; a payment remembers how much of it
 * is credited, and the ledger gets the difference to what should be.
 */
export class CreatePayments1763801200000 implements MigrationInterface {
  readonly name = 'CreatePayments1763801200000';

  async up(runner: QueryRunner): Promise<void> {
    for (const part of [accounts, payments, events, alerts, rights]) await runner.query(part);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TABLE budget_alert, processor_event, processor_dispute, processor_charge, payment, payment_method,
        billing_account;
      DROP INDEX usage_hour_by_wallet;
    `);
  }
}

const accounts = `
  CREATE TABLE billing_account (
    wallet_id             integer CONSTRAINT billing_account_pkey PRIMARY KEY
                                  CONSTRAINT billing_account_wallet_fkey REFERENCES user_account,
    customer_id           text    CONSTRAINT billing_account_customer_key UNIQUE,
    default_method_id     integer,
    invoice_name          text,
    invoice_address       text,
    tax_id                text,
    low_balance_nano      bigint  NOT NULL DEFAULT 5000000000,
    low_balance_mailed_at timestamptz,
    automatic             boolean NOT NULL DEFAULT false,
    threshold_nano        bigint  NOT NULL DEFAULT 0,
    top_up_cents          bigint  NOT NULL DEFAULT 0,
    monthly_ceiling_cents bigint  NOT NULL DEFAULT 0,
    failures              integer NOT NULL DEFAULT 0,
    paused_until          timestamptz,
    failure_code          text,
    created_at            timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT billing_account_amounts CHECK
      (low_balance_nano >= 0 AND threshold_nano >= 0 AND top_up_cents >= 0 AND monthly_ceiling_cents >= 0)
  );
  CREATE INDEX billing_account_automatic ON billing_account (wallet_id) WHERE automatic;

  CREATE TABLE payment_method (
    id           integer GENERATED ALWAYS AS IDENTITY CONSTRAINT payment_method_pkey PRIMARY KEY,
    wallet_id    integer NOT NULL CONSTRAINT payment_method_wallet_fkey REFERENCES billing_account,
    processor_id text    NOT NULL CONSTRAINT payment_method_processor_key UNIQUE,
    brand        text    NOT NULL,
    last4        text    NOT NULL,
    exp_month    integer NOT NULL,
    exp_year     integer NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    removed_at   timestamptz
  );
  CREATE INDEX payment_method_by_wallet ON payment_method (wallet_id);
  ALTER TABLE billing_account ADD CONSTRAINT billing_account_default_fkey
    FOREIGN KEY (default_method_id) REFERENCES payment_method;
`;

const payments = `
  CREATE TABLE payment (
    id                bigint  GENERATED ALWAYS AS IDENTITY CONSTRAINT payment_pkey PRIMARY KEY,
    public_id         uuid    NOT NULL CONSTRAINT payment_public_key UNIQUE,
    wallet_id         integer NOT NULL CONSTRAINT payment_wallet_fkey REFERENCES billing_account,
    kind              text    NOT NULL,
    state             text    NOT NULL DEFAULT 'open',
    live_mode         boolean NOT NULL,
    currency          text    NOT NULL DEFAULT 'usd',
    net_cents         bigint  NOT NULL,
    fee_cents         bigint  NOT NULL,
    gross_cents       bigint  NOT NULL,
    refunded_cents    bigint  NOT NULL DEFAULT 0,
    disputed_cents    bigint  NOT NULL DEFAULT 0,
    credited_nano     bigint  NOT NULL DEFAULT 0,
    postings          integer NOT NULL DEFAULT 0,
    session_id        text    CONSTRAINT payment_session_key UNIQUE,
    payment_intent_id text    CONSTRAINT payment_intent_key UNIQUE,
    failure_code      text,
    started_by        integer CONSTRAINT payment_started_by_fkey REFERENCES user_account,
    created_at        timestamptz NOT NULL DEFAULT now(),
    paid_at           timestamptz,
    polled_at         timestamptz,
    CONSTRAINT payment_kind_known CHECK (kind IN ('checkout', 'automatic')),
    CONSTRAINT payment_state_known CHECK (state IN ('open', 'failed', 'expired', 'paid')),
    CONSTRAINT payment_adds_up CHECK (net_cents > 0 AND fee_cents >= 0 AND net_cents + fee_cents = gross_cents),
    CONSTRAINT payment_credit_within CHECK
      (credited_nano >= 0 AND credited_nano <= net_cents * 10000000 AND (state = 'paid' OR credited_nano = 0)),
    CONSTRAINT payment_taken_back CHECK (refunded_cents >= 0 AND disputed_cents >= 0)
  );
  CREATE INDEX payment_by_wallet ON payment (wallet_id, id DESC);
  CREATE INDEX payment_open ON payment (created_at) WHERE state = 'open';
  CREATE UNIQUE INDEX payment_one_automatic ON payment (wallet_id) WHERE kind = 'automatic' AND state = 'open';

  -- Of charges and disputes whose payment may not be known yet: events come in any order.
  CREATE TABLE processor_charge (
    payment_intent_id text   CONSTRAINT processor_charge_pkey PRIMARY KEY,
    refunded_cents    bigint NOT NULL CONSTRAINT processor_charge_refunded CHECK (refunded_cents >= 0)
  );
  CREATE TABLE processor_dispute (
    dispute_id        text   CONSTRAINT processor_dispute_pkey PRIMARY KEY,
    payment_intent_id text   NOT NULL,
    amount_cents      bigint NOT NULL,
    state             text   NOT NULL,
    CONSTRAINT processor_dispute_state_known CHECK (state IN ('open', 'lost', 'won'))
  );
  CREATE INDEX processor_dispute_by_intent ON processor_dispute (payment_intent_id);
`;

const events = `
  CREATE TABLE processor_event (
    event_id          text        CONSTRAINT processor_event_pkey PRIMARY KEY,
    type              text        NOT NULL,
    received_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
    outcome           text        NOT NULL DEFAULT 'received',
    problem           text,
    payment_id        bigint      CONSTRAINT processor_event_payment_fkey REFERENCES payment,
    payment_intent_id text,
    fact              jsonb,
    resolved_at       timestamptz,
    resolved_by       integer     CONSTRAINT processor_event_resolver_fkey REFERENCES user_account,
    resolution        text,
    CONSTRAINT processor_event_outcome_known CHECK (outcome IN ('received', 'applied', 'ignored', 'quarantined'))
  );
  CREATE INDEX processor_event_quarantined ON processor_event (received_at DESC, event_id)
    WHERE outcome = 'quarantined';
`;

const alerts = `
  CREATE TABLE budget_alert (
    window_id  bigint      NOT NULL CONSTRAINT budget_alert_window_fkey REFERENCES spending_window,
    percent    smallint    NOT NULL,
    alerted_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT budget_alert_pkey PRIMARY KEY (window_id, percent)
  );
  CREATE INDEX usage_hour_by_wallet ON usage_hour (wallet_id, hour) INCLUDE (cost_nano);
`;

const rights = `
  GRANT SELECT, INSERT, UPDATE ON billing_account, payment_method, payment, processor_charge, processor_dispute,
    processor_event TO switchboard_app;
  GRANT SELECT, INSERT, DELETE ON budget_alert TO switchboard_app;
`;
