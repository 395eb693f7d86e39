import { setTimeout as delay } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import type { Nano } from '../../kernel';
import { Database, readRows, RepeatingJob, type TableRow, type Tx } from '../../platform';
import { Ledger, type PostingKind } from '../ledger/ledger';

type PromotionCreditRow = TableRow<'promotion_credit', 'grant_id, wallet_id, remaining'>;

type EndedCredit = TableRow<'promotion_credit', 'remaining, reclaimed'> &
  TableRow<'spending_window', 'escrowed'> & { readonly isNew: boolean; readonly isFinal: boolean };

interface Reclaim {
  readonly grantId: number;
  readonly walletId: number;
  readonly holder: number;
  readonly amount: Nano;
  /** Amount of the promotion that was posted back already. */
  readonly reclaimedBefore: string;
}

const BATCH_SIZE = 500;
/** Nodes hand back unused money within milliseconds of the notification. */
const HAND_BACK_MS = 50;
const MAX_ROUNDS = 10;
/** Requests in flight when a promotion expires end within this time. */
const MAX_REQUEST_DURATION = '1 hour';
/** Refers to the current end: a promotion might have been extended after an earlier one. */
const ENDED = 'c.ended_at >= g.expires_at';

const outstandingGrants = `
  SELECT g.id AS grant_id, w.wallet_id, g.amount
    FROM promotion_grant g
    CROSS JOIN LATERAL (
      SELECT u.id AS wallet_id FROM user_account u
       WHERE u.status = 'active' AND (
         (g.scope = 'user' AND u.id = g.user_id) OR g.scope = 'everyone'
         OR (g.scope = 'organisation' AND u.id = (SELECT o.billing_user_id FROM organisation o WHERE o.id = g.organisation_id)
             AND NOT EXISTS (SELECT FROM promotion_credit c WHERE c.grant_id = g.id)))) AS w
   WHERE (g.expires_at IS NULL OR g.expires_at > now()) AND ($1::integer IS NULL OR g.id = $1)
     AND NOT EXISTS (SELECT FROM promotion_credit c WHERE c.grant_id = g.id AND c.wallet_id = w.wallet_id)
   ORDER BY g.id, w.wallet_id LIMIT $2`;

const expiredCredits = `
  SELECT c.grant_id, c.wallet_id FROM promotion_credit c JOIN promotion_grant g ON g.id = c.grant_id
   WHERE c.remaining > 0 AND g.expires_at <= now() AND ($1::integer IS NULL OR g.id = $1)
     AND (c.wallet_id, c.grant_id) > ($3::integer, $4::integer)
   ORDER BY c.wallet_id, c.grant_id LIMIT $2`;

/**
 * Promotions in the ledger. Spending uses promotions before paid money, the earliest expiry first, and an unused rest
 * is posted back. All amounts are computed from the wallet's spending.
 */
@Injectable()
export class PromotionStore {
  constructor(
    private readonly database: Database,
    private readonly ledger: Ledger,
  ) {}

  @RepeatingJob({ name: 'promotions', cron: '*/5 * * * *' })
  async grant(signal: AbortSignal): Promise<void> {
    await this.creditAll(null, signal);
  }

  /** Takes back the rest of expired promotions; until then it can be spent. */
  @RepeatingJob({ name: 'ended-promotions', cron: '*/15 * * * * *' })
  async reclaimExpired(signal: AbortSignal): Promise<void> {
    await this.reclaimAll(null, signal);
  }

  /** Credits each wallet once, no matter how often and on how many nodes this runs. */
  async creditAll(grantId: number | null, signal?: AbortSignal): Promise<void> {
    for (;;) {
      const due = await this.database.rows<TableRow<'promotion_credit', 'grant_id, wallet_id, amount'>>(
        outstandingGrants,
        [grantId, BATCH_SIZE],
      );
      for (const { grantId, walletId, amount } of due) {
        if (signal?.aborted === true) return;
        await this.database.transaction((tx) => this.credit(tx, grantId, walletId, BigInt(amount)), {
          withoutActivity: 'the grant itself is on record',
        });
      }
      if (due.length < BATCH_SIZE) return;
    }
  }

  /** Makes nodes draw again from the wallets of a grant whose end has changed. */
  async notifyNodes(tx: Tx, grantId: number): Promise<void> {
    await tx.query(
      `SELECT pg_notify('money', format('limit wallet %s', coalesce(holder_wallet_id, wallet_id)))
         FROM promotion_credit WHERE grant_id = $1 AND remaining > 0`,
      [grantId],
    );
  }

  async handOver(tx: Tx, from: number, to: number): Promise<void> {
    // Both wallets have spent from their own promotions until now.
    for (const walletId of [from, to].sort((one, other) => one - other)) await this.allocate(tx, walletId);
    await tx.query(
      `UPDATE promotion_credit SET holder_wallet_id = $2
        WHERE (wallet_id = $1 AND holder_wallet_id IS NULL) OR holder_wallet_id = $1`,
      [from, to],
    );
  }

  /** Counts requests that were in flight at a hand-over against the promotions handed over. */
  async spendHandedOver(tx: Tx, to: number, spent: Nano): Promise<void> {
    if (spent > 0n) await this.spend(tx, 'c.holder_wallet_id = $1', to, spent);
  }

  /** Leaves money held for requests in flight until they settle; a later run takes it. */
  async reclaimAll(grantId: number | null, signal?: AbortSignal): Promise<void> {
    let last = { walletId: 0, grantId: 0 };
    for (;;) {
      const due = await this.database.rows<typeof last>(expiredCredits, [
        grantId,
        BATCH_SIZE,
        last.walletId,
        last.grantId,
      ]);
      for (const { grantId, walletId } of due) {
        if (signal?.aborted === true) return;
        await this.reclaim(grantId, walletId);
      }
      if (due.length < BATCH_SIZE) return;
      last = due.at(-1) ?? last;
    }
  }

  private async credit(tx: Tx, grantId: number, walletId: number, amount: Nano): Promise<void> {
    await this.allocate(tx, walletId);
    const rows = await tx.query<unknown[]>(
      `INSERT INTO promotion_credit (grant_id, wallet_id, amount, remaining) VALUES ($1::integer, $2::integer, $3::bigint, $3::bigint)
       ON CONFLICT DO NOTHING RETURNING 1`,
      [grantId, walletId, amount.toString()],
    );
    if (rows.length === 0) return;
    const ref = `${grantId} to ${walletId}`;
    const kind: PostingKind = 'promotion';
    await this.ledger.post(tx, { walletId, amount, against: 'promotion', kind, ref });
  }

  /** Notifies nodes to hand back what they have drawn; what remains then is held for requests. */
  private async reclaim(grantId: number, walletId: number): Promise<void> {
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      if (round > 0) await delay(HAND_BACK_MS);
      const isOver = await this.database.transaction((tx) => this.reclaimOnce(tx, grantId, walletId), {
        withoutActivity: 'the end of the grant is on record',
      });
      if (isOver) break;
    }
    await this.database.query(
      `UPDATE promotion_credit c SET ended_at = now() FROM promotion_grant g
        WHERE c.grant_id = $1 AND c.wallet_id = $2 AND g.id = c.grant_id AND ${ENDED} IS NOT TRUE`,
      [grantId, walletId],
    );
  }

  /** Returns true if notifying nodes again would bring nothing. */
  private async reclaimOnce(tx: Tx, grantId: number, walletId: number): Promise<boolean> {
    const [credit] = await tx.query<{ holder: number }[]>(
      'SELECT coalesce(holder_wallet_id, wallet_id) AS holder FROM promotion_credit WHERE grant_id = $1 AND wallet_id = $2',
      [grantId, walletId],
    );
    if (credit === undefined) return true;
    const { holder } = credit;
    await this.allocate(tx, holder);
    // If a merge has moved the credit meanwhile, the next run takes it.
    const [row] = await readRows<EndedCredit>(
      tx,
      `SELECT c.remaining, c.reclaimed, w.escrowed, ${ENDED} IS NOT TRUE AS is_new,
              (${ENDED} AND c.ended_at < now() - interval '${MAX_REQUEST_DURATION}') IS TRUE AS is_final
         FROM promotion_credit c JOIN promotion_grant g ON g.id = c.grant_id
         JOIN spending_window w ON w.kind = 'wallet' AND w.owner_id = $3
        WHERE c.grant_id = $1 AND c.wallet_id = $2 AND coalesce(c.holder_wallet_id, c.wallet_id) = $3`,
      [grantId, walletId, holder],
    );
    if (row === undefined) return true;
    const remaining = BigInt(row.remaining);
    const free = row.isFinal ? remaining : remaining - BigInt(row.escrowed);
    if (free > 0n)
      await this.postBack(tx, { grantId, walletId, holder, amount: free, reclaimedBefore: row.reclaimed });
    const isOver = free === remaining || !row.isNew;
    if (!isOver)
      await tx.query(`SELECT pg_notify('money', format('limit wallet %s', $1::integer))`, [holder]);
    return isOver;
  }

  private async postBack(
    tx: Tx,
    { grantId, walletId, holder, amount, reclaimedBefore }: Reclaim,
  ): Promise<void> {
    await tx.query(
      `UPDATE promotion_credit SET remaining = remaining - $3::bigint, reclaimed = reclaimed + $3::bigint
        WHERE grant_id = $1 AND wallet_id = $2`,
      [grantId, walletId, amount.toString()],
    );
    // The amount taken back before makes the reference of each part unique.
    const ref = `${grantId} from ${walletId} after ${reclaimedBefore}`;
    const kind: PostingKind = 'promotion-expired';
    await this.ledger.post(tx, { walletId: holder, amount: -amount, against: 'promotion', kind, ref });
  }

  /** Counts the wallet's new spending against its promotions. The row lock makes concurrent runs wait. */
  private async allocate(tx: Tx, walletId: number): Promise<void> {
    await tx.query(
      `INSERT INTO promotion_wallet (wallet_id, spent)
       VALUES ($1::integer, coalesce((SELECT spent FROM spending_window WHERE kind = 'wallet' AND owner_id = $1::integer), 0))
       ON CONFLICT DO NOTHING`,
      [walletId],
    );
    const [counted] = await tx.query<TableRow<'promotion_wallet', 'spent'>[]>(
      'SELECT spent FROM promotion_wallet WHERE wallet_id = $1 FOR UPDATE',
      [walletId],
    );
    const [current] = await tx.query<TableRow<'spending_window', 'spent'>[]>(
      `SELECT spent FROM spending_window WHERE kind = 'wallet' AND owner_id = $1`,
      [walletId],
    );
    const spent = BigInt(current?.spent ?? 0);
    const uncounted = spent - BigInt(counted?.spent ?? 0);
    if (uncounted <= 0n) return;
    await this.spend(
      tx,
      `(c.wallet_id = $1 AND c.holder_wallet_id IS NULL) OR c.holder_wallet_id = $1`,
      walletId,
      uncounted,
    );
    await tx.query('UPDATE promotion_wallet SET spent = $2 WHERE wallet_id = $1', [
      walletId,
      spent.toString(),
    ]);
  }

  /** Takes spending from the promotions that a condition selects, the earliest expiry first. */
  private async spend(tx: Tx, condition: string, walletId: number, amount: Nano): Promise<void> {
    let remainingAmount = amount;
    const credits = await readRows<PromotionCreditRow>(
      tx,
      `SELECT c.grant_id, c.wallet_id, c.remaining FROM promotion_credit c JOIN promotion_grant g ON g.id = c.grant_id
        WHERE (${condition}) AND c.remaining > 0
        ORDER BY g.expires_at NULLS LAST, g.id, c.wallet_id FOR NO KEY UPDATE OF c`,
      [walletId],
    );
    for (const { grantId, walletId: grantedWalletId, remaining } of credits) {
      if (remainingAmount <= 0n) return;
      const taken = remainingAmount < BigInt(remaining) ? remainingAmount : BigInt(remaining);
      remainingAmount -= taken;
      await tx.query(
        'UPDATE promotion_credit SET remaining = remaining - $3::bigint WHERE grant_id = $1 AND wallet_id = $2',
        [grantId, grantedWalletId, taken.toString()],
      );
    }
  }
}
