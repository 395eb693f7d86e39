import { type Database, MasterKeys, SecretBox, type Settings } from '../platform';
import type { ProviderCredential } from './credential.entity';

type Sealed = Pick<ProviderCredential, 'keyId'>;

/** It says that credentials were sealed under a master key that is not at hand; null where all can be read. */
export function foreignMasterKey(rows: readonly Sealed[], box: SecretBox): string | null {
  const strange = rows.filter(({ keyId }) => !box.canRead(keyId));
  return strange.length === 0
    ? null
    : `MASTER_KEY cannot read ${strange.length} of ${rows.length} supplier credentials: they were encrypted under another key.`;
}

/** The same of the credentials in a database. */
export async function foreignMasterKeyIn(
  database: Database,
  { masterKey }: Pick<Settings, 'masterKey'>,
): Promise<string | null> {
  const rows = await database.rows<Sealed>(
    'SELECT key_id FROM provider_credential WHERE disabled_at IS NULL',
  );
  return foreignMasterKey(rows, new SecretBox(MasterKeys.parse(masterKey)));
}
