import type { TableRow, Tx } from '../../platform';
import { hasAddress } from '../account-address';

/** Returns false if another account has the address. */
export async function setAddress(tx: Tx, userId: number, email: string): Promise<boolean> {
  const [, affected] = await tx.query<[unknown, number]>(
    `UPDATE user_account SET email = $2, shares_address = false WHERE id = $1
       AND NOT EXISTS (SELECT 1 FROM user_account o WHERE ${hasAddress('o.email', '$2')} AND o.id <> $1)`,
    [userId, email],
  );
  return affected > 0;
}

/** Returns the new account's id; undefined if another account has the address. */
export async function insertConfirmedAccount(
  tx: Tx,
  account: {
    readonly email: string;
    readonly displayName: string;
    readonly language: string;
    readonly timeZone: string;
  },
): Promise<number | undefined> {
  const [row] = await tx.query<TableRow<'user_account', 'id'>[]>(
    `INSERT INTO user_account (email, display_name, status, preferred_language, time_zone)
     SELECT $1::text, $2::text, 'active', $3::text, $4::text
      WHERE NOT EXISTS (SELECT 1 FROM user_account o WHERE ${hasAddress('o.email', '$1')})
     ON CONFLICT DO NOTHING RETURNING id`,
    [account.email, account.displayName, account.language, account.timeZone],
  );
  return row?.id;
}
