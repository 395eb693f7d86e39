import { type Database, readRows, type TableRow, type Tx } from '../../platform';
import { closestAddress, hasAddress } from '../account-address';

type Reader = Pick<Tx, 'query'>;

export type SignInAccount = TableRow<'user_account', 'id, email, password_hash, status'> & {
  readonly ssoOnly: boolean;
};

export async function findAccountId(reader: Reader, email: string): Promise<number | null> {
  const [row] = await reader.query<TableRow<'user_account', 'id'>[]>(
    `SELECT id FROM user_account WHERE ${hasAddress('email', '$1')}
      ORDER BY ${closestAddress('email', '$1')} LIMIT 1`,
    [email],
  );
  return row?.id ?? null;
}

export async function findSignInAccount(
  database: Database,
  email: string,
): Promise<SignInAccount | undefined> {
  const [row] = await database.rows<SignInAccount>(
    `SELECT u.id, u.email, u.password_hash, u.status, coalesce(o.sso_only, false) AS sso_only
     FROM user_account u LEFT JOIN organisation o ON o.id = u.organisation_id
     WHERE ${hasAddress('u.email', '$1')} ORDER BY ${closestAddress('u.email', '$1')} LIMIT 1`,
    [email],
  );
  return row;
}

/** True for a user whose organisation signs in through a provider, so that passwords are disabled. */
export async function signsInByProviderOnly(reader: Reader, userId: number): Promise<boolean> {
  const rows = await reader.query<unknown[]>(
    'SELECT 1 FROM user_account u JOIN organisation o ON o.id = u.organisation_id AND o.sso_only WHERE u.id = $1',
    [userId],
  );
  return rows.length > 0;
}

/** Password hash of a user, and whether the session was opened within the last 10 minutes. */
export async function findProofState(
  database: Database,
  userId: number,
  sessionId: string,
): Promise<(TableRow<'user_account', 'password_hash'> & { readonly isFresh: boolean }) | undefined> {
  const [row] = await database.rows<TableRow<'user_account', 'password_hash'> & { isFresh: boolean }>(
    `SELECT u.password_hash, s.created_at > clock_timestamp() - interval '10 minutes' AS is_fresh
     FROM user_account u JOIN session s ON s.user_id = u.id WHERE u.id = $1 AND s.public_id = $2`,
    [userId, sessionId],
  );
  return row;
}

export async function findCredentialState(
  database: Database,
  userId: number,
): Promise<(TableRow<'user_account', 'password_hash'> & { readonly enabledAt: Date | null }) | undefined> {
  const [row] = await database.rows<TableRow<'user_account', 'password_hash'> & { enabledAt: Date | null }>(
    `SELECT u.password_hash, f.enabled_at FROM user_account u LEFT JOIN second_factor f ON f.user_id = u.id
     WHERE u.id = $1`,
    [userId],
  );
  return row;
}

interface Registration {
  readonly data: object;
  readonly isFirst: boolean;
}

/** Unexpired registrations of an address, with whether each one set the current password. Returns at most two. */
export function findRegistrations(database: Database, userId: number): Promise<Registration[]> {
  return database.rows<Registration>(
    `SELECT t.data, coalesce(t.data ->> 'passwordHash' = u.password_hash, true) AS is_first
       FROM account_token t JOIN user_account u ON u.id = t.user_id
      WHERE t.user_id = $1 AND t.purpose = 'verify_email' AND t.expires_at > now() LIMIT 2`,
    [userId],
  );
}

export const readCanonicalAddress = async (reader: Reader, address: string): Promise<string> => {
  const [row] = await readRows<{ form: string }>(reader, 'SELECT canonical_address($1) AS form', [address]);
  return row?.form ?? address;
};

export async function isMember(tx: Tx, email: string, organisationId: number): Promise<boolean> {
  const rows = await tx.query<unknown[]>(
    `SELECT 1 FROM user_account WHERE ${hasAddress('email', '$1')} AND organisation_id = $2`,
    [email, organisationId],
  );
  return rows.length > 0;
}
