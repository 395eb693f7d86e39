import type Stripe from 'stripe';
import { Injectable } from '@nestjs/common';
import { ActivityLog } from '../../audit';
import { fault, formatUsd, type Nano, nanoPerCent } from '../../kernel';
import { Database, Logger, type Tx } from '../../platform';
import { Ledger } from '../ledger/ledger';
import { BillingAccounts } from './billing-accounts';
import { chargeFact, refundFact } from './events';
import { PaymentProcessor } from './payment-processor';
import { ProcessorInbox } from './processor-inbox';
import { type RefundOrder, RefundOrders } from './refund-orders';

/** Reason and form token of a manual change; a repeated token changes nothing. */
export interface OperatorAction {
  readonly reason: string;
  readonly token: string;
}

/** Manual changes of money by operators: always with a reason, always logged. */
@Injectable()
export class BillingOperators {
  constructor(
    private readonly database: Database,
    private readonly processor: PaymentProcessor,
    private readonly accounts: BillingAccounts,
    private readonly inbox: ProcessorInbox,
    private readonly orders: RefundOrders,
    private readonly ledger: Ledger,
    private readonly activity: ActivityLog,
    private readonly logger: Logger,
  ) {}

  /** Refunds through the processor; without an amount, the complete rest. The wallet is debited in proportion. */
  async refund(publicId: string, cents: bigint | null, { reason, token }: OperatorAction): Promise<void> {
    this.processor.requireConnection();
    const operatorAction = { reason, token };
    const order = await this.database.transaction((tx) =>
      this.placeOrder(tx, publicId, cents, operatorAction),
    );
    if (order === null) return;
    const refund = await this.createRefund(order);
    const fact = refundFact({ ...refund });
    if (fact !== null) await this.inbox.applyFact(fact);
    await this.orders.close(order, 'made');
    // The refund is already recorded: a failed query loses nothing that its event does not bring.
    await this.refreshCharge(order.intentId).catch((error: unknown) =>
      this.logger.warn('a charge could not be looked at after its refund', { error, payment: publicId }),
    );
  }

  /** Posts a manual adjustment. Returns false if this form was sent before. */
  async adjust(walletId: number, amount: Nano, { reason, token }: OperatorAction): Promise<boolean> {
    const { organisationId, email } = await this.accounts.owner(walletId);
    return this.database.transaction(async (tx) => {
      const posting = { walletId, amount, against: 'adjustment', kind: 'adjustment', ref: token } as const;
      if (!(await this.ledger.post(tx, posting))) {
        this.activity.reportNoChange();
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

  private async placeOrder(
    tx: Tx,
    publicId: string,
    cents: bigint | null,
    { reason, token }: OperatorAction,
  ): Promise<RefundOrder | null> {
    const order = await this.orders.place(tx, publicId, cents, token);
    if (order === null || !order.isNew) {
      this.activity.reportNoChange();
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

  /** An order without a response stays open, and submitting the form again repeats the call. */
  private async createRefund(order: RefundOrder): Promise<Stripe.Refund> {
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
      const { message: said } = refusal;
      await this.orders.close(order, 'refused');
      throw fault('conflict', {
        message: `The payment processor refuses this refund: ${said}`,
        details: { reason: 'refund-refused', said },
        cause: error,
      });
    }
  }

  /** Reads the current charge: the event of the refund reports the same, but might be late. */
  private async refreshCharge(intentId: string): Promise<void> {
    const intent = await this.processor.call((client) =>
      client.paymentIntents.retrieve(intentId, { expand: ['latest_charge'] }),
    );
    const charge = intent.latest_charge;
    const fact = typeof charge === 'object' && charge !== null ? chargeFact({ ...charge }) : null;
    if (fact !== null) await this.inbox.applyFact(fact);
  }
}

const usd = (cents: bigint): string => formatUsd(cents * nanoPerCent, { fixed: 2 });
