import type { ServerResponse } from 'node:http';
import { Controller, Query, Req, Res } from '@nestjs/common';
import {
  BillingAccounts,
  Cards,
  Invoices,
  Ledger,
  PaymentProcessor,
  Payments,
  WalletHistory,
} from '../../billing';
import { atLeast, fault, isUuid } from '../../kernel';
import { Settings } from '../../platform';
import {
  Access,
  actorOf,
  Csv,
  csvTable,
  type CsvContent,
  type HttpRequest,
  listPage,
  Page,
  PageRenderer,
} from '../../web';
import { ledgerFile, ledgerList } from './ledger-model';
import { type InvoiceOverview, overviewModel } from './billing-overview-model';
import { billingTabs, modeBanner, paymentFile, paymentList } from './payments-model';
import { WalletPartyService, type WalletParty } from './wallet-party.service';
import { BillingOverviewQuery, BillingListQuery, PaymentReturnQuery } from './billing-page.dto';

const PAGE_SIZE = 50;
const RECENT_PAYMENTS = 5;
const REFRESH_SECONDS = 2;

/** The wallet that is charged for the signed-in user: balance, top-ups and entries. */
@Controller()
export class BillingPageController {
  constructor(
    private readonly parties: WalletPartyService,
    private readonly accounts: BillingAccounts,
    private readonly cards: Cards,
    private readonly ledger: Ledger,
    private readonly invoices: Invoices,
    private readonly history: WalletHistory,
    private readonly payments: Payments,
    private readonly processor: PaymentProcessor,
    private readonly pages: PageRenderer,
    private readonly settings: Settings,
  ) {}

  @Page('/dashboard/billing', 'pages/billing/overview', Access.session())
  async overview(@Query() query: BillingOverviewQuery, @Req() request: HttpRequest) {
    const party = await this.parties.resolve(request);
    const { walletId, owner } = party;
    const ownWallet = await this.findOwnWallet(party, actorOf(request).userId);
    if (!party.canMoveMoney) return { elsewhere: { payer: owner.name || owner.email }, ownWallet };
    const [wallet, account, cards, recent, invoices] = await Promise.all([
      this.ledger.wallet(walletId),
      this.accounts.findOrCreate(walletId),
      this.cards.list(walletId),
      this.payments.page(walletId, { limit: RECENT_PAYMENTS }),
      this.findInvoices(party),
    ]);
    const { isConnected, isTestMode, isSandbox } = this.processor;
    const model = overviewModel(
      {
        party,
        wallet,
        invoices,
        account,
        // Cards belong to a customer of the current API key; without one, none can be charged.
        cards: account.customerId === null ? [] : cards,
        recent: recent.rows,
        query,
        isConnected,
        isTestMode,
        isSandbox,
        showsPlumbing: atLeast(actorOf(request).role, 'platform_admin'),
      },
      { translate: this.pages.textsFor(request), locale: this.pages.localeOf(request) },
    );
    return { ...model, ownWallet };
  }

  @Page('/dashboard/billing/payments', 'pages/billing/payments', Access.session())
  async paymentPage(@Query() { cursor }: BillingListQuery, @Req() request: HttpRequest) {
    const party = await this.parties.requireMover(request);
    const page = await this.payments.page(party.walletId, { cursor: cursor ?? null, limit: PAGE_SIZE });
    const translate = this.pages.textsFor(request);
    const list = listPage(request, page, paymentList(party, translate), translate);
    return {
      ...list,
      tabs: billingTabs('payments', translate, party),
      mode: modeBanner(this.processor, translate),
    };
  }

  @Csv('/dashboard/billing/payments/export', Access.session(), 'payments')
  async paymentFile(@Query() _query: BillingListQuery, @Req() request: HttpRequest): Promise<CsvContent> {
    const { walletId } = await this.parties.requireMover(request);
    const cappedAt = this.settings.auditExportMaxRows;
    return csvTable(this.payments.all(walletId, cappedAt), paymentFile, cappedAt);
  }

  @Page('/dashboard/billing/ledger', 'pages/billing/ledger', Access.session())
  async ledgerPage(@Query() { cursor }: BillingListQuery, @Req() request: HttpRequest) {
    const party = await this.parties.requireMover(request);
    const page = await this.history.page(party.walletId, { cursor: cursor ?? null, limit: PAGE_SIZE });
    const translate = this.pages.textsFor(request);
    const locale = this.pages.localeOf(request);
    const list = listPage(request, page, ledgerList(party, { translate, locale }), translate);
    return {
      ...list,
      tabs: billingTabs('ledger', translate, party),
      mode: modeBanner(this.processor, translate),
    };
  }

  @Csv('/dashboard/billing/ledger/export', Access.session(), 'ledger')
  async ledgerFile(@Query() _query: BillingListQuery, @Req() request: HttpRequest): Promise<CsvContent> {
    const { walletId } = await this.parties.requireMover(request);
    const cappedAt = this.settings.auditExportMaxRows;
    return csvTable(this.history.all(walletId, cappedAt), ledgerFile, cappedAt);
  }

  /** Waits for the processor's event, because the redirect proves no payment and credits nothing. */
  @Page('/dashboard/billing/return', 'pages/billing/return', Access.session())
  async afterPayment(
    @Query() { payment: publicId }: PaymentReturnQuery,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: ServerResponse,
  ) {
    const payment = isUuid(publicId) ? await this.payments.findByPublicId(publicId) : null;
    const { walletId } = await this.parties.requireReader(request, payment?.walletId);
    if (payment?.walletId !== walletId) throw fault('not_found');
    const { isSandbox } = this.processor;
    const isOpen = payment.state === 'open';
    if (isOpen) response.setHeader('refresh', String(REFRESH_SECONDS));
    return {
      publicId,
      mode: modeBanner({ isSandbox, isTestMode: !payment.live }, this.pages.textsFor(request)),
      isOpen,
      isPaid: payment.state === 'paid',
      credit: payment.creditedNano,
      failure: payment.failureCode,
    };
  }

  private async findInvoices({ walletId }: WalletParty): Promise<InvoiceOverview | null> {
    const [state, { rows }] = await Promise.all([
      this.invoices.state(walletId),
      this.invoices.payments(walletId, { limit: RECENT_PAYMENTS }),
    ]);
    const isInvoiced = state.credit > 0n || state.owed !== 0n || rows.length > 0;
    return isInvoiced ? { state, payments: rows } : null;
  }

  /** Returns the user's own wallet if a different one is shown and the own one holds money or cards. */
  private async findOwnWallet(
    { walletId }: WalletParty,
    userId: number,
  ): Promise<{ balance: bigint } | null> {
    if (walletId === userId) return null;
    const [{ balance }, cards] = await Promise.all([this.ledger.wallet(userId), this.cards.list(userId)]);
    return balance === 0n && cards.length === 0 ? null : { balance };
  }
}
