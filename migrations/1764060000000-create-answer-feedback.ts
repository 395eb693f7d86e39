import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What people say of answers to their own requests: a thumb, and that they asked again. Never a word of either text. */
export class CreateAnswerFeedback1764060000000 implements MigrationInterface {
  readonly name = 'CreateAnswerFeedback1764060000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE answer_feedback (
        request_id      uuid        CONSTRAINT answer_feedback_pkey PRIMARY KEY,
        organisation_id integer
          CONSTRAINT answer_feedback_organisation_fkey REFERENCES organisation ON DELETE CASCADE,
        user_id         integer     NOT NULL
          CONSTRAINT answer_feedback_user_fkey REFERENCES user_account ON DELETE CASCADE,
        -- The model that answered.
        model           text        NOT NULL,
        verdict         text        CONSTRAINT answer_feedback_verdict_known CHECK (verdict IN ('up', 'down')),
        retried_at      timestamptz,
        changed_at      timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT answer_feedback_says_something CHECK (num_nonnulls(verdict, retried_at) > 0)
      );
      CREATE INDEX answer_feedback_by_user ON answer_feedback (user_id);
      CREATE INDEX answer_feedback_by_organisation ON answer_feedback (organisation_id, changed_at DESC);
      GRANT SELECT, INSERT, UPDATE, DELETE ON answer_feedback TO switchboard_app;

      CREATE FUNCTION forget_answer_feedback() RETURNS trigger
      LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
      BEGIN
        DELETE FROM answer_feedback WHERE user_id = NEW.id;
        RETURN NULL;
      END $$;
      CREATE TRIGGER user_account_takes_answer_feedback AFTER UPDATE OF status ON user_account
        FOR EACH ROW WHEN (NEW.status = 'deleted' AND OLD.status <> 'deleted')
        EXECUTE FUNCTION forget_answer_feedback();
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TRIGGER user_account_takes_answer_feedback ON user_account;
      DROP FUNCTION forget_answer_feedback();
      DROP TABLE answer_feedback;
    `);
  }
}
