import { Body, Controller, Query, Req } from '@nestjs/common';
import {
  AutomaticTopUp,
  type AutomaticTopUpRule,
  BillingAccounts,
  type Card,
  Cards,
  isTopUp,
  MIN_TOP_UP_CENTS,
  MAX_TOP_UP_CENTS,
  type Payment,
  PaymentProcessor,
  Payments,
  topUpCents,
} from '../../billing';
import { fault, nanoPerCent, toJsonNumber } from '../../kernel';
import { Settings } from '../../platform';
import {
  Access,
  Action,
  Data,
  done,
  type ActionResult,
  type HttpRequest,
  PathId,
  PathText,
  presentPage,
} from '../../web';
import { centsField, isJson, MAX_CENTS, fieldError } from './amount-field';
import { concernsOf, overviewHref, WalletPartyService } from './wallet-party.service';
import { PaymentListQuery, AutomaticTopUpForm } from './billing-data.dto';

const notLinked = { none: 'no account is ever linked: there is nothing to change' } as const;

@Controller()
export class BillingDataController {
  constructor(
    private readonly parties: WalletPartyService,
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
      min_amount: toJsonNumber(MIN_TOP_UP_CENTS * nanoPerCent),
      max_amount: toJsonNumber(MAX_TOP_UP_CENTS * nanoPerCent),
    };
  }

  @Data('/api/billing/payment-methods', Access.session())
  async paymentMethods(@Req() request: HttpRequest) {
    const { walletId } = await this.parties.requireMover(request);
    return { object: 'list', data: (await this.listCards(walletId)).map(presentCard) };
  }

  @Data('/api/billing/payments', Access.session())
  async paymentList(@Query() query: PaymentListQuery, @Req() request: HttpRequest) {
    const { walletId } = await this.parties.requireMover(request);
    const page = await this.payments.page(walletId, query);
    return presentPage(page, presentPayment, ({ publicId }) => publicId);
  }

  @Action('/api/billing/payment-methods/:pm_id', Access.session(), {
    audit: 'billing.card-removed',
    verb: 'delete',
  })
  removeCard(@PathText('pm_id') id: string, @Req() request: HttpRequest) {
    return this.removeCardOf(id, request);
  }

  /** HTML forms can only post. */
  @Action('/api/billing/payment-methods/:pm_id/delete', Access.session(), { audit: 'billing.card-removed' })
  async removeCardByForm(@PathText('pm_id') id: string, @Req() request: HttpRequest): Promise<ActionResult> {
    const result = await this.removeCardOf(id, request);
    return done(overviewHref(request), result, 'billing.card-removed');
  }

  @Action('/api/billing/payment-methods/:pm_id/default', Access.session(), {
    audit: 'billing.default-card-changed',
  })
  makeDefault(@PathText('pm_id') id: string, @Req() request: HttpRequest): Promise<ActionResult> {
    return this.setDefaultCard(id, request);
  }

  @Action('/api/billing/payment-method/:pm_id', Access.session(), {
    audit: 'billing.card-removed',
    verb: 'delete',
  })
  removeRow(@PathId('pm_id') id: number, @Req() request: HttpRequest) {
    return this.removeCardOf(id, request);
  }

  @Action('/api/billing/payment-method/:pm_id/default', Access.session(), {
    audit: 'billing.default-card-changed',
  })
  makeRowDefault(@PathId('pm_id') id: number, @Req() request: HttpRequest): Promise<ActionResult> {
    return this.setDefaultCard(id, request);
  }

  @Action('/api/billing/auto-topup', Access.session(), { audit: 'billing.auto-top-up-changed' })
  async autoTopUp(@Body() form: AutomaticTopUpForm, @Req() request: HttpRequest): Promise<ActionResult> {
    const party = await this.parties.requireMover(request);
    const { walletId } = party;
    const current = isJson(request) ? (await this.accounts.findOrCreate(walletId)).automatic : null;
    const enabled = readEnabled(form.enabled, current);
    const rule = enabled
      ? await this.readRule(request, walletId, current?.enabled === true ? current : null)
      : { enabled, threshold: 0n, amountCents: 0n, monthlyCeilingCents: 0n };
    await this.automatic.change(walletId, rule, concernsOf(party));
    return done(overviewHref(request), { ok: true, enabled }, 'billing.automatic-saved');
  }

  /** Linking is not supported; the response reports it. */
  @Action('/api/billing/link-provider-account', Access.session(), { audit: notLinked })
  async link(@Req() request: HttpRequest) {
    await this.parties.requireMover(request);
    return { ok: true, linked: false };
  }

  @Action('/api/billing/unlink-provider-account', Access.session(), { audit: notLinked })
  async unlink(@Req() request: HttpRequest) {
    await this.parties.requireMover(request);
    return { ok: true, linked: false };
  }

  /** Cards belong to a customer of the current API key; without one, none can be charged. */
  private async listCards(walletId: number): Promise<Card[]> {
    const { customerId } = await this.accounts.findOrCreate(walletId);
    return customerId === null ? [] : this.cards.list(walletId);
  }

  private async removeCardOf(id: string | number, request: HttpRequest) {
    const party = await this.parties.requireMover(request);
    const { walletId } = party;
    await this.cards.remove(walletId, await this.cards.find(walletId, id), concernsOf(party));
    return { ok: true };
  }

  private async setDefaultCard(id: string | number, request: HttpRequest): Promise<ActionResult> {
    const party = await this.parties.requireMover(request);
    const { walletId } = party;
    await this.cards.makeDefault(walletId, await this.cards.find(walletId, id), concernsOf(party));
    return done(overviewHref(request), { ok: true }, 'billing.card-default');
  }

  /** A field omitted from JSON keeps its value while the rule is enabled. */
  private async readRule(request: HttpRequest, walletId: number, current: AutomaticTopUpRule | null) {
    const threshold = centsField(request, 'threshold', current && current.threshold / nanoPerCent);
    const amountCents = centsField(request, 'amount', current?.amountCents);
    const monthlyCeilingCents = centsField(request, 'monthly_ceiling', current?.monthlyCeilingCents);
    if (!isTopUp(amountCents))
      throw fieldError('amount', 'must be from 5.00 to 10000.00 US dollars', 'range');
    if (threshold > MAX_CENTS) throw fieldError('threshold', 'must be at most 1000000 US dollars', 'range');
    if (monthlyCeilingCents < topUpCents(amountCents).gross || monthlyCeilingCents > MAX_CENTS) {
      throw fieldError(
        'monthly_ceiling',
        'must be at least the amount and its fee, and at most 1000000 US dollars',
        'range',
      );
    }
    if ((await this.listCards(walletId)).length === 0) {
      throw fault('payment_required', { message: 'Save a card first: it is what is charged.' });
    }
    return { enabled: true, threshold: threshold * nanoPerCent, amountCents, monthlyCeilingCents };
  }
}

/** An absent value means off in a form, and unchanged in JSON. */
function readEnabled(value: boolean | undefined, current: AutomaticTopUpRule | null): boolean {
  if (value !== undefined) return value;
  if (current === null) return false;
  if (current.enabled) return true;
  throw fieldError('enabled', 'is needed while automatic top-ups are off', 'missing');
}

const presentCard = (card: Card) => ({
  id: card.processorId,
  row_id: card.id,
  brand: card.brand,
  last4: card.last4,
  // Null for a payment method without an expiry date, such as a wallet.
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
