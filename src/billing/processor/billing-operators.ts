import type Stripe from 'stripe';
import { Injectable } from '@nestjs/common';
import { ActivityLog } from '../../audit';
import { fault, formatUsd, type Nano, nanoPerCent } from '../../kernel';
import { Database, Logger, type Tx } from '../../platform';
import { Ledger } from '../ledger/ledger';
import { BillingAccounts } from './billing-accounts';
import { chargeFact, refundFact } from './events';
import { PaymentProcessor } from './payment-processor';
import { type Payment, Payments } from './payments';
import { ProcessorInbox } from './processor-inbox';
import { type RefundOrder, RefundOrders } from './refund-orders';

/** The reason, and a token of the form: a repeated token changes nothing. */
export interface OperatorAct {
  readonly reason: string;
  readonly token: string;
}

/** A payment on which our books and the processor differ. */
export interface Difference {
  readonly intentId: string;
  readonly payment: Payment | null;
  readonly problem: 'unknown-here' | 'unknown-there' | 'not-credited' | 'amount' | 'refunded';
  readonly ours: bigint;
  readonly theirs: bigint;
}

export interface Reconciliation {
  /** Later than asked for where the lists are too long to be compared as a whole. */
  readonly since: Date;
  readonly compared: number;
  readonly differences: readonly Difference[];
}

interface ProcessorTotals {
  readonly id: string;
  readonly createdAt: Date;
  readonly receivedCents: bigint;
  readonly refundedCents: bigint;
}

const MOST_COMPARED = 10_000;
const DAY_MS = 86_400_000;

/** Manual changes of money by operators: always with a reason, always logged. */
@Injectable()
export class BillingOperators {
  constructor(
    private readonly database: Database,
    private readonly processor: PaymentProcessor,
    private readonly payments: Payments,
    private readonly accounts: BillingAccounts,
    private readonly inbox: ProcessorInbox,
    private readonly orders: RefundOrders,
    private readonly ledger: Ledger,
    private readonly activity: ActivityLog,
    private readonly logger: Logger,
  ) {}

  /** Refunds through the processor; without an amount, the whole rest. The wallet follows in proportion. */
  async refund(publicId: string, cents: bigint | null, { reason, token }: OperatorAct): Promise<void> {
    this.processor.requireConnection();
    const act = { reason, token };
    const order = await this.database.transaction((tx) => this.order(tx, publicId, cents, act));
    if (order === null) return;
    const made = await this.carryOut(order);
    const fact = refundFact({ ...made });
    if (fact !== null) await this.inbox.learn(fact);
    await this.orders.close(order, 'made');
    // The refund is made and known: a failed look loses nothing that its event does not bring.
    await this.look(order.intentId).catch((error: unknown) =>
      this.logger.warn('a charge could not be looked at after its refund', { error, payment: publicId }),
    );
  }

  /** A manual posting by an operator. False where this form was sent before. */
  async adjust(walletId: number, amount: Nano, { reason, token }: OperatorAct): Promise<boolean> {
    const { organisationId, email } = await this.accounts.owner(walletId);
    return this.database.transaction(async (tx) => {
      const posting = { walletId, amount, against: 'adjustment', kind: 'adjustment', ref: token } as const;
      if (!(await this.ledger.post(tx, posting))) {
        this.activity.nothingChanged();
        return false;
      }
      await this.activity.write(tx, {
        action: 'billing.adjusted',
        object: { type: 'account', id: walletId, label: email },
        concerns: { userId: walletId, organisationId },
        changes: { amount_usd: [null, formatUsd(amount)] },
        reason,
      });
      return true;
    });
  }

  /** Compares our payments with the processor's, over so many days. */
  async reconcile(days: number, now = new Date()): Promise<Reconciliation> {
    const begin = new Date(now.getTime() - days * DAY_MS);
    const [told, ours] = await Promise.all([
      this.told(begin),
      this.payments.since(begin, this.processor.isLiveMode, MOST_COMPARED),
    ]);
    const cuts = [told.cutAt, ours.length < MOST_COMPARED ? null : (ours.at(-1)?.createdAt ?? null)];
    const since = cuts.reduce<Date>((latest, cut) => (cut !== null && cut > latest ? cut : latest), begin);
    const theirs = told.totals.filter(({ createdAt }) => createdAt >= since);
    const known = new Map(
      ours.flatMap((payment) => (payment.intentId === null ? [] : [[payment.intentId, payment]])),
    );
    const there = new Map(theirs.map((told) => [told.id, told]));
    const differences = [
      ...theirs.flatMap((told) => differenceOf(told, known.get(told.id) ?? null)),
      ...ours.flatMap((payment) => missingThere(payment, there, since)),
    ];
    return { since, compared: new Set([...there.keys(), ...known.keys()]).size, differences };
  }

  private async order(
    tx: Tx,
    publicId: string,
    cents: bigint | null,
    { reason, token }: OperatorAct,
  ): Promise<RefundOrder | null> {
    const order = await this.orders.place(tx, publicId, cents, token);
    if (order === null || !order.isNew) {
      this.activity.nothingChanged();
      return order;
    }
    const { id, walletId } = order.payment;
    const { organisationId } = await this.accounts.owner(walletId);
    await this.activity.write(tx, {
      action: 'billing.refund-ordered',
      object: { type: 'payment', id, label: `${usd(order.amountCents)} USD` },
      concerns: { userId: walletId, organisationId },
      reason,
    });
    return order;
  }

  /** An order without an answer stays open, and the same form asks for it again. */
  private async carryOut(order: RefundOrder): Promise<Stripe.Refund> {
    const { id, intentId, amountCents } = order;
    try {
      return await this.processor.call((client) =>
        client.refunds.create(
          { payment_intent: intentId, amount: Number(amountCents), reason: 'requested_by_customer' },
          { idempotencyKey: `refund-${id}` },
        ),
      );
    } catch (error) {
      const refusal = this.processor.refusalOf(error);
      if (refusal === null) {
        throw fault('billing_unavailable', {
          message:
            'The payment processor did not answer, so this refund may have been made. Send the form again.',
          details: { reason: 'refund-unknown' },
          cause: error,
        });
      }
      const { said } = refusal;
      await this.orders.close(order, 'refused');
      throw fault('conflict', {
        message: `The payment processor refuses this refund: ${said}`,
        details: { reason: 'refund-refused', said },
        cause: error,
      });
    }
  }

  /** The charge as it stands now: the event of the refund tells the same, and may be late. */
  private async look(intentId: string): Promise<void> {
    const intent = await this.processor.call((client) =>
      client.paymentIntents.retrieve(intentId, { expand: ['latest_charge'] }),
    );
    const charge = intent.latest_charge;
    const fact = typeof charge === 'object' && charge !== null ? chargeFact({ ...charge }) : null;
    if (fact !== null) await this.inbox.learn(fact);
  }

  /** The newest first; `cutAt` is the time of the last one where there are more. */
  private async told(since: Date): Promise<{ totals: ProcessorTotals[]; cutAt: Date | null }> {
    const intents = await this.processor.call((client) =>
      client.paymentIntents
        .list({
          created: { gte: Math.floor(since.getTime() / 1_000) },
          limit: 100,
          expand: ['data.latest_charge'],
        })
        .autoPagingToArray({ limit: MOST_COMPARED }),
    );
    const last = intents.length < MOST_COMPARED ? undefined : intents.at(-1);
    const totals = intents
      .filter(({ status }) => status === 'succeeded')
      .map(({ id, created, amount_received: received, latest_charge: charge }) => ({
        id,
        createdAt: new Date(created * 1_000),
        receivedCents: BigInt(received),
        refundedCents: BigInt(typeof charge === 'object' && charge !== null ? charge.amount_refunded : 0),
      }));
    return { totals, cutAt: last === undefined ? null : new Date(last.created * 1_000) };
  }
}

const usd = (cents: bigint): string => formatUsd(cents * nanoPerCent, { fixed: 2 });

function differenceOf(
  { id, receivedCents, refundedCents }: ProcessorTotals,
  payment: Payment | null,
): Difference[] {
  const found = (problem: Difference['problem'], ours: bigint, theirs: bigint): Difference[] => [
    { intentId: id, payment, problem, ours, theirs },
  ];
  if (payment === null) return found('unknown-here', 0n, receivedCents);
  if (payment.state !== 'paid') return found('not-credited', 0n, receivedCents);
  if (payment.grossCents !== receivedCents) return found('amount', payment.grossCents, receivedCents);
  // Some processors do not subtract a failed refund from the charge's total.
  const isKnown = [payment.refundedCents, payment.refundedCents + payment.failedRefundCents].includes(
    refundedCents,
  );
  return isKnown ? [] : found('refunded', payment.refundedCents, refundedCents);
}

/** The processor lists payments by when they were begun: one that took days may be older than its list. */
function missingThere(
  payment: Payment,
  there: ReadonlyMap<string, ProcessorTotals>,
  since: Date,
): Difference[] {
  const { state, intentId, grossCents, createdAt } = payment;
  if (state !== 'paid' || intentId === null || there.has(intentId) || createdAt < since) return [];
  return [{ intentId, payment, problem: 'unknown-there', ours: grossCents, theirs: 0n }];
}
