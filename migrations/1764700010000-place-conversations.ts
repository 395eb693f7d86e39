import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A conversation belongs to a person and the organisation of that time, whatever becomes of the person later. */
export class PlaceConversations1764700010000 implements MigrationInterface {
  readonly name = 'PlaceConversations1764700010000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE conversation
        ADD COLUMN organisation_id integer
          CONSTRAINT conversation_organisation_fkey REFERENCES organisation ON DELETE SET NULL,
        ADD COLUMN department_id integer
          CONSTRAINT conversation_department_fkey REFERENCES department ON DELETE SET NULL;
      CREATE INDEX conversation_by_organisation ON conversation (organisation_id, updated_at DESC, id DESC);

      -- Of a person who has moved since then nobody knows where it was begun: it stays the person's alone.
      UPDATE conversation c SET organisation_id = u.organisation_id, department_id = u.department_id
        FROM user_account u
       WHERE u.id = c.user_id AND NOT EXISTS (
         SELECT 1 FROM activity a WHERE a.user_id = c.user_id AND a.occurred_at >= c.created_at
            AND a.action IN ('user.organisation-changed', 'user.department-changed', 'invite.accepted'));

      CREATE FUNCTION place_conversation() RETURNS trigger
      LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
      BEGIN
        SELECT organisation_id, department_id INTO NEW.organisation_id, NEW.department_id
          FROM user_account WHERE id = NEW.user_id;
        RETURN NEW;
      END $$;
      CREATE TRIGGER conversation_is_placed BEFORE INSERT ON conversation
        FOR EACH ROW EXECUTE FUNCTION place_conversation();
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TRIGGER conversation_is_placed ON conversation;
      DROP FUNCTION place_conversation();
      ALTER TABLE conversation DROP COLUMN department_id, DROP COLUMN organisation_id;
    `);
  }
}
