import type { ServerResponse } from 'node:http';
import { Body, Controller, Req, Res } from '@nestjs/common';
import { ActivityLog } from '../../audit';
import { Checkout, PaymentProcessor } from '../../billing';
import { fromUnknown } from '../../kernel';
import { Takes } from '../../platform';
import {
  Access,
  Action,
  actorOf,
  done,
  type Done,
  type HttpRequest,
  okWith,
  PageRenderer,
  wantsPage,
} from '../../web';
import { topUpAmount, topUpField, topUpNumber } from './amount-field';
import { modeBanner } from './payments-model';
import { WalletParties } from './wallet-party';

class CheckoutForm {
  @Takes(topUpAmount)
  amount?: unknown;
}

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

/** Money begins to come in here: the processor's own page takes it from here. */
@Controller()
export class CheckoutController {
  constructor(
    private readonly checkout: Checkout,
    private readonly processor: PaymentProcessor,
    private readonly parties: WalletParties,
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

  /** The older name of the same. */
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
    const { walletId } = await this.parties.mover(request);
    return this.onward(await this.checkout.addCard(walletId), request, response);
  }

  private async topUp(request: HttpRequest, response: ServerResponse) {
    try {
      const { walletId, owner } = await this.parties.mover(request);
      const { url } = await this.checkout.start(walletId, topUpField(request, 'amount'), {
        userId: actorOf(request).userId,
        organisationId: owner.organisationId,
      });
      return this.onward(url, request, response);
    } catch (error) {
      return this.backToPage(error, request);
    }
  }

  /** A form may lead to our own pages only, so a page of ours leads on: at once, and by a link. */
  private onward(url: string, request: HttpRequest, response: ServerResponse) {
    if (!wantsPage(request)) return { ok: true, url };
    response.setHeader('refresh', `0; url=${new URL(url).href}`);
    response.setHeader('content-type', 'text/html; charset=utf-8');
    const mode = modeBanner(this.processor, this.pages.textsFor(request));
    return this.pages.page('pages/billing/onward', { address: url, mode }, request);
  }

  /** A person who mistyped is led back to the form, a program gets the refusal. */
  private backToPage(error: unknown, request: HttpRequest): Done {
    const problem = fromUnknown(error);
    if (!wantsPage(request) || problem.code !== 'validation_error') throw error;
    this.activity.nothingChanged();
    return done('/dashboard/billing', { ok: false }, { tone: 'bad', text: 'billing.amount-refused' });
  }
}
