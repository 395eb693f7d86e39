import { readRows, type TableRow, type Tx } from '../../platform';

export interface StoredToken {
  readonly tokenHash: Buffer;
  readonly purpose: string;
}

export type SpentToken = Pick<TableRow<'account_token', 'user_id'>, 'userId'> & {
  readonly data: Readonly<Record<string, unknown>>;
};

const VALID = 'token_hash = $1 AND purpose = $2 AND expires_at > now()';

/** Deletes the row, so that only one of two requests with the same token succeeds. */
export async function spendToken(tx: Tx, { tokenHash, purpose }: StoredToken): Promise<SpentToken | null> {
  const [token] = await readRows<SpentToken>(
    tx,
    `DELETE FROM account_token WHERE ${VALID} RETURNING user_id, data`,
    [tokenHash, purpose],
  );
  return token ?? null;
}

export async function findToken(tx: Tx, { tokenHash, purpose }: StoredToken): Promise<SpentToken | null> {
  const [token] = await readRows<SpentToken>(tx, `SELECT user_id, data FROM account_token WHERE ${VALID}`, [
    tokenHash,
    purpose,
  ]);
  return token ?? null;
}
