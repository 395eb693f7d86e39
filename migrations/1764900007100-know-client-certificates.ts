import type { MigrationInterface, QueryRunner } from 'typeorm';

const kinds = (list: string): string => `
  ALTER TABLE provider_credential DROP CONSTRAINT provider_credential_kind_known,
    ADD CONSTRAINT provider_credential_kind_known CHECK (kind IN (${list}))`;

/** A supplier may want a certificate of ours; its key is sealed as every secret is. Old nodes pass such rows over. */
export class KnowClientCertificates1764900007100 implements MigrationInterface {
  readonly name = 'KnowClientCertificates1764900007100';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(kinds(`'bearer', 'header', 'sigv4', 'oauth-pool', 'client-certificate'`));
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DELETE FROM provider_credential WHERE kind = 'client-certificate'`);
    await runner.query(kinds(`'bearer', 'header', 'sigv4', 'oauth-pool'`));
  }
}
