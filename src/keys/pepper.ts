import { createHmac } from 'node:crypto';
import { type Database, readRows, type Row, type Settings, SettingsError, type Tx } from '../platform';
import { hashKey } from './key-text';

type Pepper = Pick<Settings, 'keyPepper'>;

const NAME_LENGTH = 8;

/** It identifies a pepper, and tells nothing about it. */
const nameOf = ({ keyPepper }: Pepper): string =>
  createHmac('sha256', keyPepper).update('pepper name').digest('base64url').slice(0, NAME_LENGTH);

const FOREIGN = 'is not the one that keys were made with: none of them would be known.';

const storedName = async (from: Database | Tx): Promise<string | null> => {
  const [row] = await readRows<Row<'key_revision', 'pepper_name'>>(
    from,
    'SELECT pepper_name FROM key_revision',
  );
  return row?.pepperName ?? null;
};

/** Returns a complaint if keys were hashed with another pepper. It is null before the first start, too. */
export async function foreignPepperIn(from: Database | Tx, pepper: Pepper): Promise<string | null> {
  const stored = await storedName(from);
  return stored === null || stored === nameOf(pepper) ? null : `KEY_PEPPER ${FOREIGN}`;
}

/** The first start writes down what keys are hashed with; no other start may differ. */
export async function holdPepper(database: Database, pepper: Pepper): Promise<void> {
  // The database may be one that can only be read.
  if ((await storedName(database)) === null)
    await database.query('UPDATE key_revision SET pepper_name = $1 WHERE pepper_name IS NULL', [
      nameOf(pepper),
    ]);
  await refuseForeign(database, pepper);
}

/** Refuses to hash a new key with another pepper than that of all keys: the key could not be used. */
export async function hashNew(tx: Tx, pepper: Pepper, text: string): Promise<Buffer> {
  await refuseForeign(tx, pepper);
  return hashKey(pepper.keyPepper, text);
}

async function refuseForeign(from: Database | Tx, pepper: Pepper): Promise<void> {
  if ((await foreignPepperIn(from, pepper)) === null) return;
  const problem = `${FOREIGN} Set it as it was; one that was changed on purpose is taken by root-key rotate --accept-pepper.`;
  throw new SettingsError([{ name: 'KEY_PEPPER', problem }]);
}

/** From now on keys are hashed with this one. */
export async function acceptPepper(tx: Tx, pepper: Pepper): Promise<void> {
  await tx.query('UPDATE key_revision SET pepper_name = $1', [nameOf(pepper)]);
}
