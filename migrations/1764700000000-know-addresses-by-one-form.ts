import type { MigrationInterface, QueryRunner } from 'typeorm';

interface Collision {
  readonly ids: readonly number[];
}

/** One canonical form of mail addresses. Accounts that collide under it stay as they are, and are named. */
export class KnowAddressesByOneForm1764700000000 implements MigrationInterface {
  readonly name = 'KnowAddressesByOneForm1764700000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE FUNCTION canonical_address(address text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
      RETURN replace(replace(translate(
        lower(translate(normalize(btrim(address, E' \\t\\r\\n'), NFKC), U&'\\0130\\0131\\1E9E', U&'ii\\00DF')),
        U&'\\03C2', U&'\\03C3'), U&'\\00DF', 'ss'), U&'i\\0307', 'i');
      GRANT EXECUTE ON FUNCTION canonical_address(text) TO switchboard_app;

      ALTER TABLE user_account ADD COLUMN shares_address boolean NOT NULL DEFAULT false;
      UPDATE user_account SET shares_address = true WHERE canonical_address(email) IN (
        SELECT canonical_address(email) FROM user_account GROUP BY 1 HAVING count(*) > 1);
      CREATE INDEX user_account_by_address ON user_account (canonical_address(email));
      CREATE UNIQUE INDEX user_account_address_key ON user_account (canonical_address(email))
        WHERE NOT shares_address;
    `);
    const collisions = (await runner.query(
      `SELECT array_agg(id ORDER BY id) AS ids FROM user_account WHERE shares_address
        GROUP BY canonical_address(email) ORDER BY 1 LIMIT 100`,
    )) as Collision[];
    for (const { ids } of collisions)
      process.stderr.write(
        `Accounts ${ids.join(', ')} have one mail address in other spellings: see doctor.\n`,
      );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP INDEX user_account_address_key, user_account_by_address;
      ALTER TABLE user_account DROP COLUMN shares_address;
      DROP FUNCTION canonical_address(text);
    `);
  }
}
