import type { Nano } from '../../kernel';
import type { Tx } from '../../platform';
import type { PostingKind } from './ledger';

export interface WalletTransfer {
  readonly from: number;
  readonly to: number;
  /** Kind and reference are permanently unique together: a repeated transfer moves nothing. */
  readonly kind: PostingKind;
  readonly ref: string;
}

/**
 * Moves a wallet's balance, which can be negative, in one ledger transaction; `followTransfer` moves what nodes still
 * hold.
 */
export async function transferWallet(tx: Tx, { from, to, kind, ref }: WalletTransfer): Promise<Nano> {
  const rows = await tx.query<{ moved: string }[]>('SELECT money_transfer($1, $2, $3, $4) AS moved', [
    from,
    to,
    kind,
    ref,
  ]);
  return BigInt(rows[0]?.moved ?? 0);
}

interface FollowedTransfer {
  readonly to: number | null;
  /** Spending of the former wallet since the last call, by requests that were in flight at the transfer. */
  readonly spent: Nano;
  readonly isOpen: boolean;
}

/** Moves what nodes returned to a wallet since its transfer. */
export async function followTransfer(tx: Tx, from: number): Promise<FollowedTransfer> {
  const [row] = await tx.query<{ to_wallet: string | null; spent: string | null; is_open: boolean }[]>(
    'SELECT * FROM money_follow($1)',
    [from],
  );
  const to = row?.to_wallet ?? null;
  return {
    to: to === null ? null : Number(to),
    spent: BigInt(row?.spent ?? 0),
    isOpen: row?.is_open ?? false,
  };
}
