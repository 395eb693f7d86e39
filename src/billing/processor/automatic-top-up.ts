import type Stripe from 'stripe';
import { Injectable } from '@nestjs/common';
import { ActivityLog, type ActivitySubject, systemActor } from '../../audit';
import { formatUsd, nanoPerCent, uuidv7 } from '../../kernel';
import { Database, Logger, readRows, RepeatingJob, type TableRow, type Tx } from '../../platform';
import { topUpCents } from '../top-up';
import { type AutomaticTopUpRule, type BillingAccount, BillingAccounts } from './billing-accounts';
import { BillingMails } from './billing-mails';
import { AutomaticFailures } from './automatic-failures';
import { Cards } from './cards';
import { intentFact } from './events';
import { PaymentProcessor } from './payment-processor';
import { type Payment, Payments, paymentOf, type PaymentRow } from './payments';
import { ProcessorInbox } from './processor-inbox';
import { concernsOfWallet } from './wallet-concern';

const BATCH_SIZE = 100;
/** The processor keeps idempotency keys for at least a day; an older call without a response never charged. */
const GIVE_UP_AFTER_HOURS = 20;

const POLL_BATCH_SIZE = 200;

interface TopUpCharge {
  readonly kind: 'charge';
  readonly payment: Payment;
  readonly customerId: string;
  readonly cardId: string;
}

/** Outcome of checking a wallet; null if there is nothing to do now. */
type TriggerOutcome = TopUpCharge | { readonly kind: 'ceiling' } | FailedTopUp | null;

interface FailedTopUp {
  readonly kind: 'failed';
  readonly payment: Payment;
  readonly code: string;
}

interface OpenCharge {
  readonly payment: Payment;
  readonly isOld: boolean;
  /** Card named in the first call. */
  readonly cardId: string | null;
}

/** Tops up wallets whose balance fell below their threshold: one charge per trigger, however many nodes check. */
@Injectable()
export class AutomaticTopUp {
  constructor(
    private readonly database: Database,
    private readonly processor: PaymentProcessor,
    private readonly accounts: BillingAccounts,
    private readonly payments: Payments,
    private readonly inbox: ProcessorInbox,
    private readonly failures: AutomaticFailures,
    private readonly cards: Cards,
    private readonly mails: BillingMails,
    private readonly activity: ActivityLog,
    private readonly logger: Logger,
  ) {}

  async change(walletId: number, rule: AutomaticTopUpRule, concerns: ActivitySubject): Promise<void> {
    await this.database.transaction(async (tx) => {
      const { automatic } = await this.accounts.lock(tx, walletId);
      await this.accounts.setAutomatic(tx, walletId, rule);
      await this.activity.write(tx, {
        action: 'billing.auto-top-up-changed',
        object: { type: 'setting', id: walletId },
        concerns,
        changes: Object.fromEntries(
          (['enabled', 'threshold', 'amountCents', 'monthlyCeilingCents'] as const)
            .filter((name) => automatic[name] !== rule[name])
            .map((name) => [name, [String(automatic[name]), String(rule[name])]]),
        ),
      });
    });
  }

  @RepeatingJob({ name: 'automatic-top-ups', cron: '*/20 * * * * *' })
  async run(signal?: AbortSignal): Promise<void> {
    if (!this.processor.isConnected) return;
    for (let last: number | undefined = 0; last !== undefined;) {
      const dueWallets: number[] = await this.dueWallets(last);
      for (const walletId of dueWallets) {
        if (signal?.aborted === true) return;
        await this.trigger(walletId).catch((error: unknown) =>
          this.logger.warn('an automatic top-up is put off', { error, wallet: walletId }),
        );
      }
      last = dueWallets.length < BATCH_SIZE ? undefined : dueWallets.at(-1);
    }
  }

  /** Charges the wallet's default card once, if it is due. Safe to call on several nodes at once. */
  async trigger(walletId: number): Promise<void> {
    const outcome = await this.database.transaction((tx) => this.start(tx, walletId));
    if (outcome?.kind === 'charge') await this.charge(outcome);
    else if (outcome?.kind === 'ceiling') await this.mails.ceilingReached(walletId);
    else if (outcome !== null) await this.notifyFailure(outcome.payment, outcome.code);
  }

  /** Polls open charges, which can take days and whose events can be lost. */
  @RepeatingJob({ name: 'poll-automatic-top-ups', cron: '17 * * * *', deadlineMs: 600_000 })
  async pollOpen(signal?: AbortSignal): Promise<void> {
    if (!this.processor.isConnected) return;
    const open = await this.database.rows<
      TableRow<'payment', 'id'> & { readonly paymentIntentId: string }
    >(`SELECT id, payment_intent_id FROM payment
        WHERE kind = 'automatic' AND state = 'open' AND payment_intent_id IS NOT NULL
        ORDER BY polled_at NULLS FIRST, id LIMIT ${POLL_BATCH_SIZE}`);
    for (const { id, paymentIntentId: intentId } of open) {
      if (signal?.aborted === true) return;
      await this.processor
        .call((client) => client.paymentIntents.retrieve(intentId))
        .then((intent) => this.applyIntent(intent))
        .catch((error: unknown) =>
          this.logger.warn('an open automatic top-up could not be asked for', { error, payment: id }),
        );
      await this.database.query('UPDATE payment SET polled_at = now() WHERE id = $1', [id]);
    }
  }

  private async dueWallets(after: number): Promise<number[]> {
    const rows = await this.database.rows<TableRow<'billing_account', 'wallet_id'>>(
      `SELECT a.wallet_id FROM billing_account a
         LEFT JOIN spending_window w ON w.kind = 'wallet' AND w.owner_id = a.wallet_id
         LEFT JOIN spending_rule r ON r.kind = 'wallet' AND r.owner_id = a.wallet_id
        WHERE a.automatic AND a.wallet_id > $1 AND (a.paused_until IS NULL OR a.paused_until < now())
          AND coalesce(w.limit_nano - w.spent, 0) - coalesce(r.limit_nano, 0) < a.threshold_nano
          AND NOT EXISTS (SELECT FROM payment p WHERE p.wallet_id = a.wallet_id AND p.kind = 'automatic'
            AND p.state = 'open' AND p.payment_intent_id IS NOT NULL)
        ORDER BY a.wallet_id LIMIT ${BATCH_SIZE}`,
      [after],
    );
    return rows.map(({ walletId }) => walletId);
  }

  /** Returns the wallet's only open payment: a new one, or one that a crashed node left. */
  private async start(tx: Tx, walletId: number): Promise<TriggerOutcome> {
    const account = await this.accounts.lock(tx, walletId);
    const { customerId, automatic, pausedUntil } = account;
    if (!automatic.enabled || (pausedUntil !== null && pausedUntil > new Date())) return null;
    const open = await openCharge(tx, walletId);
    if (open !== null) return this.resume(tx, open, customerId);
    if ((await balanceOf(tx, walletId)) >= automatic.threshold) return null;
    if (await isAboveCeiling(tx, account)) {
      await this.pauseAtCeiling(tx, account);
      return { kind: 'ceiling' };
    }
    await this.addPayment(tx, account);
    const added = await openCharge(tx, walletId);
    if (added === null) return null;
    const { payment, cardId } = added;
    if (customerId === null || cardId === null) return this.fail(tx, payment, 'no_card');
    return { kind: 'charge', payment, customerId, cardId };
  }

  /** Once the processor has accepted a payment, only its event or a poll closes it. */
  private async resume(tx: Tx, open: OpenCharge, customerId: string | null): Promise<TriggerOutcome> {
    const { payment, isOld, cardId } = open;
    if (payment.intentId !== null) return null;
    if (isOld) return this.fail(tx, payment, 'not_answered');
    return customerId === null || cardId === null ? null : { kind: 'charge', payment, customerId, cardId };
  }

  private async fail(tx: Tx, payment: Payment, code: string): Promise<FailedTopUp | null> {
    return (await this.failures.fail(tx, payment, code)) ? { kind: 'failed', payment, code } : null;
  }

  private async addPayment(tx: Tx, { walletId, automatic, defaultMethodId }: BillingAccount): Promise<void> {
    const publicId = uuidv7();
    await this.payments.add(tx, {
      publicId,
      walletId,
      kind: 'automatic',
      live: this.processor.isLiveMode,
      amount: topUpCents(automatic.amountCents),
      startedBy: null,
      ...(defaultMethodId === null ? {} : { methodId: defaultMethodId }),
    });
    const label = `${formatUsd(automatic.amountCents * nanoPerCent, { fixed: 2 })} USD`;
    await this.activity.write(tx, {
      action: 'billing.auto-top-up-started',
      actor: systemActor('automatic top-up'),
      object: { type: 'payment', id: publicId, label },
      concerns: await concernsOfWallet(tx, walletId),
    });
  }

  /** Pauses until the next month, or until the rule is changed. */
  private async pauseAtCeiling(tx: Tx, { walletId, automatic }: BillingAccount): Promise<void> {
    const rows = await readRows<TableRow<'billing_account', 'paused_until'>>(
      tx,
      `UPDATE billing_account SET failure_code = 'ceiling',
              paused_until = (date_trunc('month', now() AT TIME ZONE 'UTC') + interval '1 month') AT TIME ZONE 'UTC'
        WHERE wallet_id = $1 RETURNING paused_until`,
      [walletId],
    );
    await this.activity.write(tx, {
      action: 'billing.auto-top-up-paused',
      actor: systemActor('automatic top-up'),
      object: { type: 'setting', id: walletId },
      concerns: await concernsOfWallet(tx, walletId),
      changes: {
        monthlyCeilingCents: [null, String(automatic.monthlyCeilingCents)],
        paused_until: [null, rows[0]?.pausedUntil?.toISOString() ?? ''],
      },
    });
  }

  /**
   * The idempotency key belongs to the payment: a second call, from another node or after a crash, gets the same
   * charge.
   */
  private async charge({ payment, customerId, cardId }: TopUpCharge): Promise<void> {
    const metadata = { payment: payment.publicId, wallet: String(payment.walletId) };
    try {
      const intent = await this.processor.call((client) =>
        client.paymentIntents.create(
          {
            amount: Number(payment.grossCents),
            currency: payment.currency,
            customer: customerId,
            payment_method: cardId,
            off_session: true,
            confirm: true,
            // Required if the account has payment methods that redirect. No redirect takes place here: the owner is not
            // present.
            return_url: this.processor.returnAddress('/dashboard/billing'),
            metadata,
          },
          { idempotencyKey: `automatic-${payment.publicId}` },
        ),
      );
      await this.payments.linkIntent(payment.id, intent.id);
      await this.applyIntent(intent);
    } catch (error) {
      const refusal = this.processor.refusalOf(error);
      // Any other error might have charged the card: the payment stays open, and the next run calls again.
      if (refusal === null) throw error;
      const declined = this.processor.isCardError(error) ? error : null;
      const code =
        declined?.decline_code ?? refusal.code ?? (declined === null ? 'card_refused' : 'card_declined');
      await this.handleRefusal(payment, declined?.payment_intent, code);
      if (declined === null) await this.cards.refreshCustomer(customerId);
    }
  }

  /** A payment that takes days stays open until its event or a poll ends it. */
  private async applyIntent(intent: Stripe.PaymentIntent): Promise<void> {
    if (intent.status === 'processing') return;
    const fact = intentFact({ ...intent }, intent.status === 'succeeded' ? 'paid' : 'refused');
    if (fact !== null) await this.inbox.applyFact(fact);
  }

  /** A refusal without a charge has no event. */
  private async handleRefusal(
    payment: Payment,
    intent: Stripe.PaymentIntent | undefined,
    code: string,
  ): Promise<void> {
    const fact = intent === undefined ? null : intentFact({ ...intent }, 'refused');
    if (fact !== null) return this.inbox.applyFact(fact);
    const failed = await this.database.transaction((tx) => this.fail(tx, payment, code));
    if (failed !== null) await this.notifyFailure(payment, code);
  }

  private notifyFailure({ walletId, publicId }: Payment, code: string): Promise<void> {
    return this.mails.automaticTopUpFailed(walletId, publicId, code);
  }
}

async function openCharge(tx: Tx, walletId: number): Promise<OpenCharge | null> {
  const [row] = await readRows<PaymentRow & { isOld: boolean; cardId: string | null }>(
    tx,
    `SELECT p.*, m.processor_id AS card_id,
            p.created_at < now() - interval '${GIVE_UP_AFTER_HOURS} hours' AS is_old
       FROM payment p JOIN billing_account a ON a.wallet_id = p.wallet_id
       LEFT JOIN payment_method m ON m.id = coalesce(p.method_id, a.default_method_id)
      WHERE p.wallet_id = $1 AND p.kind = 'automatic' AND p.state = 'open'`,
    [walletId],
  );
  return row === undefined ? null : { payment: paymentOf(row), isOld: row.isOld, cardId: row.cardId };
}

async function balanceOf(tx: Tx, walletId: number): Promise<bigint> {
  const [row] = await tx.query<{ balance: string }[]>(
    `SELECT (w.limit_nano - w.spent - coalesce(r.limit_nano, 0))::text AS balance FROM spending_window w
       LEFT JOIN spending_rule r ON r.kind = w.kind AND r.owner_id = w.owner_id
      WHERE w.kind = 'wallet' AND w.owner_id = $1`,
    [walletId],
  );
  return BigInt(row?.balance ?? 0);
}

/** The ceiling applies to what the card is charged, including fees. */
async function isAboveCeiling(tx: Tx, { walletId, automatic }: BillingAccount): Promise<boolean> {
  const [row] = await tx.query<{ cents: string }[]>(
    `SELECT coalesce(sum(gross_cents), 0)::text AS cents FROM payment
      WHERE wallet_id = $1 AND kind = 'automatic' AND state IN ('open', 'paid')
        AND created_at >= date_trunc('month', now(), 'UTC')`,
    [walletId],
  );
  return BigInt(row?.cents ?? 0) + topUpCents(automatic.amountCents).gross > automatic.monthlyCeilingCents;
}
