import { IsNull } from 'typeorm';
import { type Database, MasterKeys, SecretBox, type Settings } from '../platform';
import { ProviderCredential } from './credential.entity';

type SealedKeyRow = Pick<ProviderCredential, 'keyId'>;

/** Describes credentials that were sealed under a master key that is not configured; null if all can be read. */
export function foreignMasterKey(rows: readonly SealedKeyRow[], box: SecretBox): string | null {
  const unreadable = rows.filter(({ keyId }) => !box.canRead(keyId));
  return unreadable.length === 0
    ? null
    : `MASTER_KEY cannot read ${unreadable.length} of ${rows.length} supplier credentials: they were encrypted under another key.`;
}

export async function foreignMasterKeyIn(
  database: Database,
  { masterKey }: Pick<Settings, 'masterKey'>,
): Promise<string | null> {
  const credentials = database.source.getRepository(ProviderCredential);
  const rows = await credentials.find({ where: { disabledAt: IsNull() }, select: { id: true, keyId: true } });
  return foreignMasterKey(rows, new SecretBox(MasterKeys.parse(masterKey)));
}
