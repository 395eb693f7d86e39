import { createHmac } from 'node:crypto';
import { type Database, readRows, type TableRow, type Settings, SettingsError, type Tx } from '../platform';
import { hashKey } from './key-text';

type Pepper = Pick<Settings, 'keyPepper'>;

const NAME_LENGTH = 8;

/** Identifies a pepper without revealing anything about it. */
const pepperNameOf = ({ keyPepper }: Pepper): string =>
  createHmac('sha256', keyPepper).update('pepper name').digest('base64url').slice(0, NAME_LENGTH);

const FOREIGN = 'is not the one that keys were made with: none of them would be known.';

const readStoredName = async (from: Database | Tx): Promise<string | null> => {
  const [row] = await readRows<TableRow<'key_revision', 'pepper_name'>>(
    from,
    'SELECT pepper_name FROM key_revision',
  );
  return row?.pepperName ?? null;
};

/** Returns an error message if keys were hashed with another pepper; null otherwise, and before the first start. */
export async function findForeignPepper(from: Database | Tx, pepper: Pepper): Promise<string | null> {
  const stored = await readStoredName(from);
  return stored === null || stored === pepperNameOf(pepper) ? null : `KEY_PEPPER ${FOREIGN}`;
}

/** Stores the name of the pepper at the first start; later starts must use the same one. */
export async function claimPepper(database: Database, pepper: Pepper): Promise<void> {
  // The database might be read-only.
  if ((await readStoredName(database)) === null)
    await database.query('UPDATE key_revision SET pepper_name = $1 WHERE pepper_name IS NULL', [
      pepperNameOf(pepper),
    ]);
  await requireSamePepper(database, pepper);
}

/** Refuses to hash a new key with a different pepper: the key could not be used. */
export async function hashNewKey(tx: Tx, pepper: Pepper, text: string): Promise<Buffer> {
  await requireSamePepper(tx, pepper);
  return hashKey(pepper.keyPepper, text);
}

async function requireSamePepper(from: Database | Tx, pepper: Pepper): Promise<void> {
  if ((await findForeignPepper(from, pepper)) === null) return;
  const problem = `${FOREIGN} Set it as it was; one that was changed on purpose is taken by root-key rotate --accept-pepper.`;
  throw new SettingsError([{ name: 'KEY_PEPPER', problem }]);
}

export async function acceptPepper(tx: Tx, pepper: Pepper): Promise<void> {
  await tx.query('UPDATE key_revision SET pepper_name = $1', [pepperNameOf(pepper)]);
}
