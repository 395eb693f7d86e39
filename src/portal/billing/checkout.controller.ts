import type { ServerResponse } from 'node:http';
import { Body, Controller, Req, Res } from '@nestjs/common';
import { ActivityLog } from '../../audit';
import { Checkout, PaymentProcessor } from '../../billing';
import { fromUnknown } from '../../kernel';
import {
  Access,
  Action,
  actorOf,
  done,
  type ActionResult,
  type HttpRequest,
  okWith,
  PageRenderer,
  wantsPage,
} from '../../web';
import { topUpAmount, topUpField, topUpNumber } from './amount-field';
import { modeBanner } from './payments-model';
import { WalletPartyService } from './wallet-party.service';
import { CheckoutForm } from './checkout.dto';

const redirectToProcessor = {
  content: { 'application/json': okWith({ url: { type: 'string', format: 'uri' } }) },
};
const topUp = {
  audit: 'billing.checkout-started',
  body: { amount: topUpNumber },
  page: { amount: topUpAmount },
  responds: redirectToProcessor,
} as const;

const cardNotStored = { none: 'a card is put on record when the processor tells of it' } as const;

/** Starts top-ups; the payment itself happens on the processor's page. */
@Controller()
export class CheckoutController {
  constructor(
    private readonly checkout: Checkout,
    private readonly processor: PaymentProcessor,
    private readonly parties: WalletPartyService,
    private readonly activity: ActivityLog,
    private readonly pages: PageRenderer,
  ) {}

  @Action('/api/billing/checkout', Access.session(), topUp)
  start(
    @Body() _form: CheckoutForm,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: ServerResponse,
  ) {
    return this.topUp(request, response);
  }

  /** Legacy alias of the route above. */
  @Action('/api/billing/add-funds', Access.session(), topUp)
  addFunds(
    @Body() _form: CheckoutForm,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: ServerResponse,
  ) {
    return this.topUp(request, response);
  }

  @Action('/api/billing/payment-method', Access.session(), {
    audit: cardNotStored,
    responds: redirectToProcessor,
  })
  async addCard(@Req() request: HttpRequest, @Res({ passthrough: true }) response: ServerResponse) {
    const { walletId } = await this.parties.requireMover(request);
    return this.redirectToProcessorPage(await this.checkout.addCard(walletId), request, response);
  }

  private async topUp(request: HttpRequest, response: ServerResponse) {
    try {
      const { walletId, owner } = await this.parties.requireMover(request);
      const { url } = await this.checkout.start(walletId, topUpField(request, 'amount'), {
        userId: actorOf(request).userId,
        organisationId: owner.organisationId,
      });
      return this.redirectToProcessorPage(url, request, response);
    } catch (error) {
      return this.backToPage(error, request);
    }
  }

  /**
   * A form may redirect to the portal's own pages only, so an intermediate page redirects further, automatically and by
   * a link.
   */
  private redirectToProcessorPage(url: string, request: HttpRequest, response: ServerResponse) {
    if (!wantsPage(request)) return { ok: true, url };
    response.setHeader('refresh', `0; url=${new URL(url).href}`);
    response.setHeader('content-type', 'text/html; charset=utf-8');
    const mode = modeBanner(this.processor, this.pages.textsFor(request));
    return this.pages.page('pages/billing/onward', { address: url, mode }, request);
  }

  /** Redirects a browser with an invalid amount back to the form; API clients get the error. */
  private backToPage(error: unknown, request: HttpRequest): ActionResult {
    const problem = fromUnknown(error);
    if (!wantsPage(request) || problem.code !== 'validation_error') throw error;
    this.activity.reportNoChange();
    return done('/dashboard/billing', { ok: false }, { tone: 'bad', text: 'billing.amount-refused' });
  }
}
