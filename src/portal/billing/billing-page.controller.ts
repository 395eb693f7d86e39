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
import { atLeast, fault, isUuid, line, oneOf, uuid } from '../../kernel';
import { Settings, Takes } from '../../platform';
import {
  Access,
  actorOf,
  Csv,
  csvTable,
  type CsvTable,
  type HttpRequest,
  IsCursor,
  listPage,
  Page,
  PageRenderer,
} from '../../web';
import { ledgerFile, ledgerList } from './ledger-model';
import { type InvoiceFacts, overviewModel } from './overview-model';
import { billingTabs, modeBanner, paymentFile, paymentList } from './payments-model';
import { WalletParties, type WalletParty } from './wallet-party';

class OverviewQuery {
  @Takes(line(20).optional())
  amount?: string;

  @Takes(line(10).optional())
  cancelled?: string;

  @Takes(line(10).optional())
  card?: string;

  /** The reader's own wallet, while another one pays. */
  @Takes(oneOf(['1']).optional())
  own?: string;
}

class ListQuery {
  @IsCursor()
  cursor?: string;

  /** The reader's own wallet, while another one pays. */
  @Takes(oneOf(['1']).optional())
  own?: string;
}

class ReturnQuery {
  @Takes(uuid)
  payment: string;
}

const ROWS_A_PAGE = 50;
const RECENT = 5;
const REFRESH_SECONDS = 2;

/** The wallet that pays for the signed-in person: its balance, top-ups and entries. */
@Controller()
export class BillingPageController {
  constructor(
    private readonly parties: WalletParties,
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
  async overview(@Query() query: OverviewQuery, @Req() request: HttpRequest) {
    const party = await this.parties.of(request);
    const { walletId, owner } = party;
    const ownWallet = await this.besideOf(party, actorOf(request).userId);
    if (!party.mayMove) return { elsewhere: { payer: owner.name || owner.email }, ownWallet };
    const [wallet, account, cards, recent, invoices] = await Promise.all([
      this.ledger.wallet(walletId),
      this.accounts.of(walletId),
      this.cards.list(walletId),
      this.payments.page(walletId, { limit: RECENT }),
      this.invoicesOf(party),
    ]);
    const { isConnected, isTestMode, isSandbox } = this.processor;
    const model = overviewModel(
      {
        party,
        wallet,
        invoices,
        account,
        // Cards belong to the customer: without one that today's key knows, none can be charged.
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
  async paymentPage(@Query() { cursor }: ListQuery, @Req() request: HttpRequest) {
    const party = await this.parties.mover(request);
    const page = await this.payments.page(party.walletId, { cursor: cursor ?? null, limit: ROWS_A_PAGE });
    const translate = this.pages.textsFor(request);
    const list = listPage(request, page, paymentList(party, translate), translate);
    return {
      ...list,
      tabs: billingTabs('payments', translate, party),
      mode: modeBanner(this.processor, translate),
    };
  }

  @Csv('/dashboard/billing/payments/export', Access.session(), 'payments')
  async paymentFile(@Query() _query: ListQuery, @Req() request: HttpRequest): Promise<CsvTable> {
    const { walletId } = await this.parties.mover(request);
    const cappedAt = this.settings.auditExportMaxRows;
    return csvTable(this.payments.all(walletId, cappedAt), paymentFile, cappedAt);
  }

  @Page('/dashboard/billing/ledger', 'pages/billing/ledger', Access.session())
  async ledgerPage(@Query() { cursor }: ListQuery, @Req() request: HttpRequest) {
    const party = await this.parties.mover(request);
    const page = await this.history.page(party.walletId, { cursor: cursor ?? null, limit: ROWS_A_PAGE });
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
  async ledgerFile(@Query() _query: ListQuery, @Req() request: HttpRequest): Promise<CsvTable> {
    const { walletId } = await this.parties.mover(request);
    const cappedAt = this.settings.auditExportMaxRows;
    return csvTable(this.history.all(walletId, cappedAt), ledgerFile, cappedAt);
  }

  /** Waits for the event of the processor: to be led here proves nothing, and credits nothing. */
  @Page('/dashboard/billing/return', 'pages/billing/return', Access.session())
  async afterPayment(
    @Query() { payment: publicId }: ReturnQuery,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: ServerResponse,
  ) {
    const payment = isUuid(publicId) ? await this.payments.byPublicId(publicId) : null;
    const { walletId } = await this.parties.reader(request, payment?.walletId);
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

  private async invoicesOf({ walletId }: WalletParty): Promise<InvoiceFacts | null> {
    const [state, { rows }] = await Promise.all([
      this.invoices.state(walletId),
      this.invoices.payments(walletId, { limit: RECENT }),
    ]);
    const isOfInvoices = state.credit > 0n || state.owed !== 0n || rows.length > 0;
    return isOfInvoices ? { state, payments: rows } : null;
  }

  /** The reader's own wallet, where another one is shown and theirs holds money or cards. */
  private async besideOf({ walletId }: WalletParty, userId: number): Promise<{ balance: bigint } | null> {
    if (walletId === userId) return null;
    const [{ balance }, cards] = await Promise.all([this.ledger.wallet(userId), this.cards.list(userId)]);
    return balance === 0n && cards.length === 0 ? null : { balance };
  }
}
