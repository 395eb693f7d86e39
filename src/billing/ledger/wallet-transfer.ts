import type { Nano } from '../../kernel';
import type { Tx } from '../../platform';
import type { PostingKind } from './ledger';

export interface WalletTransfer {
  readonly from: number;
  readonly to: number;
  /** Kind and reference are unique together for ever: a repeated transfer moves nothing. */
  readonly kind: PostingKind;
  readonly ref: string;
}

/** Moves a wallet's balance, or its debt, by one ledger transaction; money held for requests in flight stays. */
export async function transferWallet(tx: Tx, { from, to, kind, ref }: WalletTransfer): Promise<Nano> {
  const rows = await tx.query<{ moved: string }[]>('SELECT money_transfer($1, $2, $3, $4) AS moved', [
    from,
    to,
    kind,
    ref,
  ]);
  return BigInt(rows[0]?.moved ?? 0);
}
