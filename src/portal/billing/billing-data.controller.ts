import { Body, Controller, Query, Req } from '@nestjs/common';
import {
  AutomaticTopUp,
  type AutomaticTopUpRule,
  BillingAccounts,
  type Card,
  Cards,
  isTopUp,
  LEAST_TOP_UP_CENTS,
  MOST_TOP_UP_CENTS,
  type Payment,
  PaymentProcessor,
  Payments,
  topUpCents,
} from '../../billing';
import { fault, nanoPerCent, toJsonNumber, truth, whole } from '../../kernel';
import { Settings, Takes } from '../../platform';
import {
  Access,
  Action,
  Data,
  done,
  type Done,
  type HttpRequest,
  IsCursor,
  PathId,
  PathText,
  presentPage,
} from '../../web';
import { centsField, centsWithin, isJson, MOST_CENTS, refusal, topUpAmount } from './amount-field';
import { concernsOf, overviewOf, WalletParties } from './wallet-party';

class PaymentsQuery {
  @Takes(whole(1, 200).default(50))
  limit: number;

  @IsCursor()
  cursor?: string;
}

/** Amounts are read as they were written: see `centsField`. */
class AutomaticTopUpForm {
  /** A box that is not ticked is not sent. */
  @Takes(truth.optional())
  enabled?: boolean;

  @Takes(centsWithin(0n, MOST_CENTS).optional())
  threshold?: unknown;

  @Takes(topUpAmount.optional())
  amount?: unknown;

  /** It is at least the amount and its fee. */
  @Takes(centsWithin(LEAST_TOP_UP_CENTS, MOST_CENTS).optional())
  monthly_ceiling?: unknown;
}

const notLinked = { none: 'no account is ever linked: there is nothing to change' } as const;

/** Cards, payments and automatic top-ups, as programs see them. */
@Controller()
export class BillingDataController {
  constructor(
    private readonly parties: WalletParties,
    private readonly accounts: BillingAccounts,
    private readonly cards: Cards,
    private readonly payments: Payments,
    private readonly automatic: AutomaticTopUp,
    private readonly processor: PaymentProcessor,
    private readonly settings: Settings,
  ) {}

  @Data('/api/billing/processor-config', Access.session())
  config() {
    return {
      connected: this.processor.isConnected,
      publishable_key: this.settings.processorPublishableKey ?? null,
      test_mode: this.processor.isTestMode,
      currency: 'usd',
      fee_percent: 5,
      min_amount: toJsonNumber(LEAST_TOP_UP_CENTS * nanoPerCent),
      max_amount: toJsonNumber(MOST_TOP_UP_CENTS * nanoPerCent),
    };
  }

  @Data('/api/billing/payment-methods', Access.session())
  async paymentMethods(@Req() request: HttpRequest) {
    const { walletId } = await this.parties.mover(request);
    return { object: 'list', data: (await this.cardsOf(walletId)).map(presentCard) };
  }

  @Data('/api/billing/payments', Access.session())
  async paymentList(@Query() query: PaymentsQuery, @Req() request: HttpRequest) {
    const { walletId } = await this.parties.mover(request);
    const page = await this.payments.page(walletId, query);
    return presentPage(page, presentPayment, ({ publicId }) => publicId);
  }

  @Action('/api/billing/payment-methods/:pm_id', Access.session(), {
    audit: 'billing.card-removed',
    verb: 'delete',
  })
  removeCard(@PathText('pm_id') id: string, @Req() request: HttpRequest) {
    return this.remove(id, request);
  }

  /** Forms can only post. */
  @Action('/api/billing/payment-methods/:pm_id/delete', Access.session(), { audit: 'billing.card-removed' })
  async removeCardByForm(@PathText('pm_id') id: string, @Req() request: HttpRequest): Promise<Done> {
    const facts = await this.remove(id, request);
    return done(overviewOf(request), facts, 'billing.card-removed');
  }

  @Action('/api/billing/payment-methods/:pm_id/default', Access.session(), {
    audit: 'billing.default-card-changed',
  })
  makeDefault(@PathText('pm_id') id: string, @Req() request: HttpRequest): Promise<Done> {
    return this.choose(id, request);
  }

  @Action('/api/billing/payment-method/:pm_id', Access.session(), {
    audit: 'billing.card-removed',
    verb: 'delete',
  })
  removeRow(@PathId('pm_id') id: number, @Req() request: HttpRequest) {
    return this.remove(id, request);
  }

  @Action('/api/billing/payment-method/:pm_id/default', Access.session(), {
    audit: 'billing.default-card-changed',
  })
  makeRowDefault(@PathId('pm_id') id: number, @Req() request: HttpRequest): Promise<Done> {
    return this.choose(id, request);
  }

  @Action('/api/billing/auto-topup', Access.session(), { audit: 'billing.auto-top-up-changed' })
  async autoTopUp(@Body() form: AutomaticTopUpForm, @Req() request: HttpRequest): Promise<Done> {
    const party = await this.parties.mover(request);
    const { walletId } = party;
    const present = isJson(request) ? (await this.accounts.of(walletId)).automatic : null;
    const enabled = switchOf(form.enabled, present);
    const rule = enabled
      ? await this.ruleOf(request, walletId, present?.enabled === true ? present : null)
      : { enabled, threshold: 0n, amountCents: 0n, monthlyCeilingCents: 0n };
    await this.automatic.change(walletId, rule, concernsOf(party));
    return done(overviewOf(request), { ok: true, enabled }, 'billing.automatic-saved');
  }

  /** No outside account pays here: the answer says so. */
  @Action('/api/billing/link-provider-account', Access.session(), { audit: notLinked })
  async link(@Req() request: HttpRequest) {
    await this.parties.mover(request);
    return { ok: true, linked: false };
  }

  @Action('/api/billing/unlink-provider-account', Access.session(), { audit: notLinked })
  async unlink(@Req() request: HttpRequest) {
    await this.parties.mover(request);
    return { ok: true, linked: false };
  }

  /** Cards belong to the customer: without one that today's key knows, none can be charged. */
  private async cardsOf(walletId: number): Promise<Card[]> {
    const { customerId } = await this.accounts.of(walletId);
    return customerId === null ? [] : this.cards.list(walletId);
  }

  private async remove(id: string | number, request: HttpRequest) {
    const party = await this.parties.mover(request);
    const { walletId } = party;
    await this.cards.remove(walletId, await this.cards.find(walletId, id), concernsOf(party));
    return { ok: true };
  }

  private async choose(id: string | number, request: HttpRequest): Promise<Done> {
    const party = await this.parties.mover(request);
    const { walletId } = party;
    await this.cards.makeDefault(walletId, await this.cards.find(walletId, id), concernsOf(party));
    return done(overviewOf(request), { ok: true }, 'billing.card-default');
  }

  /** In JSON, a field that is left out keeps its value while the rule is in force. */
  private async ruleOf(request: HttpRequest, walletId: number, present: AutomaticTopUpRule | null) {
    const threshold = centsField(request, 'threshold', present && present.threshold / nanoPerCent);
    const amountCents = centsField(request, 'amount', present?.amountCents);
    const monthlyCeilingCents = centsField(request, 'monthly_ceiling', present?.monthlyCeilingCents);
    if (!isTopUp(amountCents)) throw refusal('amount', 'must be from 5.00 to 10000.00 US dollars', 'range');
    if (threshold > MOST_CENTS) throw refusal('threshold', 'must be at most 1000000 US dollars', 'range');
    if (monthlyCeilingCents < topUpCents(amountCents).gross || monthlyCeilingCents > MOST_CENTS) {
      throw refusal(
        'monthly_ceiling',
        'must be at least the amount and its fee, and at most 1000000 US dollars',
        'range',
      );
    }
    if ((await this.cardsOf(walletId)).length === 0) {
      throw fault('payment_required', { message: 'Save a card first: it is what is charged.' });
    }
    return { enabled: true, threshold: threshold * nanoPerCent, amountCents, monthlyCeilingCents };
  }
}

/** A form whose box is not ticked says nothing, nor does a program that leaves the rule as it is. */
function switchOf(value: boolean | undefined, present: AutomaticTopUpRule | null): boolean {
  if (value !== undefined) return value;
  if (present === null) return false;
  if (present.enabled) return true;
  throw refusal('enabled', 'is needed while automatic top-ups are off', 'missing');
}

const presentCard = (card: Card) => ({
  id: card.processorId,
  row_id: card.id,
  brand: card.brand,
  last4: card.last4,
  // It is null where it does not end, as a wallet.
  exp_month: card.expMonth === 0 ? null : card.expMonth,
  exp_year: card.expYear === 0 ? null : card.expYear,
  wallet: card.wallet,
  default: card.isDefault,
});

const usd = (cents: bigint): number => toJsonNumber(cents * nanoPerCent);

const presentPayment = (payment: Payment) => ({
  id: payment.publicId,
  created_at: payment.createdAt.toISOString(),
  paid_at: payment.paidAt?.toISOString() ?? null,
  kind: payment.kind,
  status: payment.status,
  amount_usd: usd(payment.grossCents),
  fee_usd: usd(payment.feeCents),
  credit_usd: usd(payment.netCents),
  credited_usd: toJsonNumber(payment.creditedNano),
  refunded_usd: usd(payment.refundedCents),
  failure_code: payment.failureCode,
});
