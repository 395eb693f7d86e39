import type Stripe from 'stripe';
import { Injectable } from '@nestjs/common';
import { ActivityLog } from '../../audit';
import { fault, formatUsd, nanoPerCent, uuidv7 } from '../../kernel';
import { Database, Logger, RepeatingJob, type TableRow, Settings } from '../../platform';
import { topUpCents } from '../top-up';
import { BillingAccounts } from './billing-accounts';
import { sessionFact } from './events';
import { PaymentProcessor } from './payment-processor';
import { Payments } from './payments';
import { ProcessorInbox } from './processor-inbox';

export interface StartedCheckout {
  readonly publicId: string;
  readonly url: string;
}

interface Starter {
  readonly userId: number;
  readonly organisationId: number | null;
}

const POLL_BATCH_SIZE = 200;

/** Top-ups through the processor's own page. Only the processor's events credit a wallet. */
@Injectable()
export class Checkout {
  constructor(
    private readonly database: Database,
    private readonly processor: PaymentProcessor,
    private readonly accounts: BillingAccounts,
    private readonly payments: Payments,
    private readonly inbox: ProcessorInbox,
    private readonly activity: ActivityLog,
    private readonly settings: Settings,
    private readonly logger: Logger,
  ) {}

  async start(walletId: number, netCents: bigint, starter: Starter): Promise<StartedCheckout> {
    await this.accounts.customerOf(walletId);
    const amount = topUpCents(netCents);
    const publicId = uuidv7();
    await this.database.transaction(async (tx) => {
      await this.payments.add(tx, {
        publicId,
        walletId,
        kind: 'checkout',
        live: this.processor.isLiveMode,
        amount,
        startedBy: starter.userId,
      });
      const label = `${formatUsd(netCents * nanoPerCent, { fixed: 2 })} USD`;
      await this.activity.write(tx, {
        action: 'billing.checkout-started',
        object: { type: 'payment', id: publicId, label },
        concerns: { userId: walletId, organisationId: starter.organisationId },
      });
    });
    const metadata = { payment: publicId, wallet: String(walletId) };
    const item = {
      quantity: 1,
      price_data: {
        currency: 'usd',
        unit_amount: Number(amount.gross),
        product_data: { name: `${this.settings.brandName}: credit of ${dollars(netCents)} USD` },
      },
    };
    const session = await this.accounts
      .forCustomer(walletId, (customer) =>
        this.processor.call((client) =>
          client.checkout.sessions.create(
            {
              mode: 'payment',
              customer,
              client_reference_id: publicId,
              line_items: [item],
              metadata,
              payment_intent_data: { metadata, setup_future_usage: 'off_session' },
              // Charges the amount and currency shown on the page, whatever the account's defaults are.
              adaptive_pricing: { enabled: false },
              success_url: this.processor.returnAddress(`/dashboard/billing/return?payment=${publicId}`),
              cancel_url: this.processor.returnAddress('/dashboard/billing?cancelled=1'),
            },
            { idempotencyKey: `checkout-${publicId}-${customer}` },
          ),
        ),
      )
      .catch(async (error: unknown) => {
        await this.payments.abandon(publicId, 'not_started');
        throw error;
      });
    await this.payments.linkSession(publicId, session.id);
    return { publicId, url: urlOf(session) };
  }

  /** Adds a card on the processor's page: our pages load nothing from other hosts. */
  async addCard(walletId: number): Promise<string> {
    const session = await this.accounts.forCustomer(walletId, (customer) =>
      this.processor.call((client) =>
        client.checkout.sessions.create({
          mode: 'setup',
          customer,
          currency: 'usd',
          metadata: { wallet: String(walletId) },
          success_url: this.processor.returnAddress('/dashboard/billing?card=added'),
          cancel_url: this.processor.returnAddress('/dashboard/billing?cancelled=1'),
        }),
      ),
    );
    return urlOf(session);
  }

  async paymentUrl(sessionId: string): Promise<string | null> {
    const session = await this.processor.call((client) => client.checkout.sessions.retrieve(sessionId));
    return session.url;
  }

  /** Polls open checkouts, because events can be lost. */
  @RepeatingJob({ name: 'poll-checkouts', cron: '7 * * * *', deadlineMs: 600_000 })
  async pollOpen(signal?: AbortSignal): Promise<number> {
    if (!this.processor.isConnected) return 0;
    // Fails checkouts that never reached the processor, or whose response was lost; a later event still counts.
    await this.database.query(
      `UPDATE payment SET state = 'failed', failure_code = 'not_started'
        WHERE state = 'open' AND kind = 'checkout' AND session_id IS NULL AND created_at < now() - interval '1 day'`,
    );
    const open = await this.database.rows<TableRow<'payment', 'id'> & { readonly sessionId: string }>(
      `SELECT id, session_id FROM payment
        WHERE state = 'open' AND session_id IS NOT NULL AND live_mode = $1
          AND created_at < now() - interval '10 minutes'
        ORDER BY polled_at NULLS FIRST, id LIMIT ${POLL_BATCH_SIZE}`,
      [this.processor.isLiveMode],
    );
    let polled = 0;
    for (const { id, sessionId } of open) {
      if (signal?.aborted === true) break;
      await this.poll(sessionId).catch((error: unknown) =>
        this.logger.warn('an open checkout could not be asked for', { error, payment: id }),
      );
      await this.database.query('UPDATE payment SET polled_at = now() WHERE id = $1', [id]);
      polled += 1;
    }
    return polled;
  }

  private async poll(sessionId: string): Promise<void> {
    const session = await this.processor.call((client) =>
      client.checkout.sessions.retrieve(sessionId, { expand: ['payment_intent'] }),
    );
    const fact = sessionFact({ ...session }, stateOf(session));
    if (fact !== null) await this.inbox.applyFact(fact);
  }
}

/** A complete session whose payment needs another card or is cancelled has failed after days. */
function stateOf({
  status,
  payment_status: payment,
  payment_intent: intent,
}: Stripe.Checkout.Session): 'paid' | 'expired' | 'failed' | 'open' {
  if (payment === 'paid') return 'paid';
  if (status !== 'complete') return status === 'expired' ? 'expired' : 'open';
  const hasFailed =
    intent !== null &&
    typeof intent === 'object' &&
    (intent.status === 'requires_payment_method' || intent.status === 'canceled');
  return hasFailed ? 'failed' : 'open';
}

const dollars = (cents: bigint): string => formatUsd(cents * nanoPerCent, { fixed: 2 });

function urlOf({ url }: { readonly url: string | null }): string {
  if (url === null) {
    throw fault('billing_unavailable', { message: 'The payment processor gave no page to pay on.' });
  }
  return url;
}
