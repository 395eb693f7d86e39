import { Controller, Header, HttpCode, Post, Req } from '@nestjs/common';
import { PaymentProcessor, ProcessorInbox, readEvent } from '../../billing';
import { fault, readJsonObject } from '../../kernel';
import { readBody } from '../../platform';
import { Access, type HttpRequest } from '../../web';

const MAX_EVENT_BYTES = 262_144;

/**
 * Receives events of the payment processor. Requests have no session and are authenticated by a signature over the raw
 * bytes.
 */
@Controller()
export class WebhookController {
  constructor(
    private readonly processor: PaymentProcessor,
    private readonly inbox: ProcessorInbox,
  ) {}

  @Post('/api/billing/processor/webhook')
  @HttpCode(200)
  @Header('cache-control', 'no-store')
  @Access.signed()
  async receive(@Req() request: HttpRequest) {
    this.processor.requireSecret();
    const body = await readBody(request, MAX_EVENT_BYTES);
    const signature = request.headers['stripe-signature'];
    this.processor.verify(body, typeof signature === 'string' ? signature : undefined);
    const event = readEvent((await readJsonObject(body)).body);
    if (event === null) throw fault('invalid_request', { message: 'This is no event.' });
    return { received: true, outcome: await this.inbox.receive(event) };
  }
}
