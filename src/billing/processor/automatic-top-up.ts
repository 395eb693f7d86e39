import type Stripe from 'stripe';
import { Injectable } from '@nestjs/common';
import { ActivityLog } from '../../audit';
import { uuidv7 } from '../../kernel';
import { Database, Logger, RepeatingJob, type Tx } from '../../platform';
import { topUpCents } from '../top-up';
import { type AutomaticTopUpRule, type BillingAccount, BillingAccounts } from './billing-accounts';
import { BillingMails } from './billing-mails';
import { failAutomatic } from './automatic-failures';
import { intentFact } from './events';
import { PaymentProcessor } from './payment-processor';
import { type Payment, Payments, paymentOf, type PaymentRow } from './payments';
import { ProcessorInbox } from './processor-inbox';

const WALLETS_AT_ONCE = 100;
/** The processor keeps idempotency keys for at least a day; an older unanswered call never charged. */
const GIVE_UP_AFTER_HOURS = 20;

type CardError = Stripe.errors.StripeCardError;

interface Charge {
  readonly payment: Payment;
  readonly customerId: string;
  readonly cardId: string;
}

/** Tops up wallets whose balance fell below their threshold: one charge a trigger, however many nodes check. */
@Injectable()
export class AutomaticTopUp {
  constructor(
    private readonly database: Database,
    private readonly processor: PaymentProcessor,
    private readonly accounts: BillingAccounts,
    private readonly payments: Payments,
    private readonly inbox: ProcessorInbox,
    private readonly mails: BillingMails,
    private readonly activity: ActivityLog,
    private readonly logger: Logger,
  ) {}

  async change(walletId: number, rule: AutomaticTopUpRule): Promise<void> {
    await this.database.transaction(async (tx) => {
      const { automatic } = await this.accounts.locked(tx, walletId);
      await this.accounts.setAutomatic(tx, walletId, rule);
      await this.activity.write(tx, {
        action: 'billing.auto-top-up-changed',
        object: { type: 'setting', id: walletId },
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
    const due = await this.database.query<{ wallet_id: number }>(
      `SELECT a.wallet_id FROM billing_account a
         LEFT JOIN spending_window w ON w.kind = 'wallet' AND w.owner_id = a.wallet_id
         LEFT JOIN spending_rule r ON r.kind = 'wallet' AND r.owner_id = a.wallet_id
        WHERE a.automatic AND (a.paused_until IS NULL OR a.paused_until < now())
          AND coalesce(w.limit_nano - w.spent, 0) - coalesce(r.limit_nano, 0) < a.threshold_nano
        ORDER BY a.wallet_id LIMIT ${WALLETS_AT_ONCE}`,
    );
    for (const { wallet_id: walletId } of due) {
      if (signal?.aborted === true) return;
      await this.trigger(walletId).catch((error: unknown) =>
        this.logger.warn('an automatic top-up is put off', { error, wallet: walletId }),
      );
    }
  }

  /** Charges the wallet's default card once, if it is due. Safe to call on several nodes at once. */
  async trigger(walletId: number): Promise<void> {
    const charge = await this.database.transaction((tx) => this.begin(tx, walletId));
    if (charge === 'ceiling') await this.mails.ceilingReached(walletId);
    else if (charge !== null) await this.carryOut(charge);
  }

  /** The wallet's only open payment: a new one, or one that a crashed node left. */
  private async begin(tx: Tx, walletId: number): Promise<Charge | 'ceiling' | null> {
    const account = await this.accounts.locked(tx, walletId);
    const [card] = await tx.query<{ processor_id: string }[]>(
      'SELECT processor_id FROM payment_method WHERE id = $1 AND removed_at IS NULL',
      [account.defaultMethodId],
    );
    const { customerId, automatic, pausedUntil } = account;
    if (!automatic.enabled || (pausedUntil !== null && pausedUntil > new Date())) return null;
    if (customerId === null || card === undefined) return null;
    const open = await openPayment(tx, walletId);
    if (open !== null) return { payment: open, customerId, cardId: card.processor_id };
    if ((await balanceOf(tx, walletId)) >= automatic.threshold) return null;
    if (await isAboveCeiling(tx, account)) {
      await rest(tx, walletId);
      return 'ceiling';
    }
    const publicId = uuidv7();
    const amount = topUpCents(automatic.amountCents);
    const live = this.processor.isLiveMode;
    await this.payments.add(tx, { publicId, walletId, kind: 'automatic', live, amount, startedBy: null });
    const payment = await openPayment(tx, walletId);
    return payment === null ? null : { payment, customerId, cardId: card.processor_id };
  }

  /**
   * The idempotency key belongs to the payment: a second call, from another node or after a crash, gets the same
   * charge.
   */
  private async carryOut({ payment, customerId, cardId }: Charge): Promise<void> {
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
            metadata,
          },
          { idempotencyKey: `automatic-${payment.publicId}` },
        ),
      );
      // One that takes days stays open until its event comes.
      if (intent.status !== 'succeeded') return;
      const fact = intentFact({ ...intent }, 'paid');
      if (fact !== null) await this.inbox.learn(fact);
    } catch (error) {
      if (!this.processor.isCardError(error)) throw error;
      await this.refused(payment, error);
    }
  }

  /** A refusal without a charge has no event either. */
  private async refused(payment: Payment, error: CardError): Promise<void> {
    const fact =
      error.payment_intent === undefined ? null : intentFact({ ...error.payment_intent }, 'refused');
    if (fact !== null) return this.inbox.learn(fact);
    const code = error.decline_code ?? error.code ?? 'card_declined';
    const isNew = await this.database.transaction((tx) => failAutomatic(tx, payment, code));
    if (isNew) await this.mails.automaticTopUpFailed(payment.walletId, payment.publicId, code);
  }
}

async function openPayment(tx: Tx, walletId: number): Promise<Payment | null> {
  // A call without an answer is given up once its idempotency key has expired at the processor.
  await tx.query(
    `UPDATE payment SET state = 'failed', failure_code = 'not_answered'
      WHERE wallet_id = $1 AND kind = 'automatic' AND state = 'open' AND payment_intent_id IS NULL
        AND created_at < now() - interval '${GIVE_UP_AFTER_HOURS} hours'`,
    [walletId],
  );
  const [row] = await tx.query<PaymentRow[]>(
    `SELECT * FROM payment WHERE wallet_id = $1 AND kind = 'automatic' AND state = 'open'`,
    [walletId],
  );
  return row === undefined ? null : paymentOf(row);
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

async function isAboveCeiling(tx: Tx, { walletId, automatic }: BillingAccount): Promise<boolean> {
  const [row] = await tx.query<{ cents: string }[]>(
    `SELECT coalesce(sum(net_cents), 0)::text AS cents FROM payment
      WHERE wallet_id = $1 AND kind = 'automatic' AND state IN ('open', 'paid')
        AND created_at >= date_trunc('month', now(), 'UTC')`,
    [walletId],
  );
  return BigInt(row?.cents ?? 0) + automatic.amountCents > automatic.monthlyCeilingCents;
}

/** Paused until the next month, or until the rule is changed. */
const rest = (tx: Tx, walletId: number): Promise<unknown> =>
  tx.query(
    `UPDATE billing_account SET failure_code = 'ceiling',
            paused_until = (date_trunc('month', now() AT TIME ZONE 'UTC') + interval '1 month') AT TIME ZONE 'UTC'
      WHERE wallet_id = $1`,
    [walletId],
  );
