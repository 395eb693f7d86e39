import 'reflect-metadata';
import { oneOf, publicOrigin, text } from './readers';
import { Setting } from './setting.decorator';
import { SignInSettings } from './sign-in-settings';

const webhookSecret = text('a signing secret that starts with whsec_', (value) =>
  /^whsec_[\w+/=-]{16,200}$/.test(value),
);

export abstract class BillingSettings extends SignInSettings {
  @Setting({
    name: 'PROCESSOR',
    group: 'Payments',
    describe:
      'Who takes payments: sandbox is a simulated processor of our own, to try top-ups without an account, on this machine only and never in production.',
    as: oneOf('stripe', 'sandbox'),
    default: 'stripe',
  })
  readonly processor: 'stripe' | 'sandbox';

  @Setting({
    name: 'PROCESSOR_SECRET_KEY',
    group: 'Payments',
    describe: 'The secret key of the Stripe account. A test key shows a test banner on every billing page.',
    as: text('a key that starts with sk_test_, sk_live_, rk_test_ or rk_live_', (value) =>
      /^[sr]k_(test|live)_\w{8,250}$/.test(value),
    ),
    unset: 'nobody can top up (docs/billing.md)',
    secret: true,
  })
  readonly processorSecretKey?: string;

  @Setting({
    name: 'PROCESSOR_PUBLISHABLE_KEY',
    group: 'Payments',
    describe: 'The publishable key of the same account, for programs that ask for it.',
    as: text('a key that starts with pk_test_ or pk_live_', (value) =>
      /^pk_(test|live)_\w{8,250}$/.test(value),
    ),
    unset: 'none is told',
  })
  readonly processorPublishableKey?: string;

  @Setting({
    name: 'PROCESSOR_WEBHOOK_SECRET',
    group: 'Payments',
    describe:
      'The signing secret of the webhook endpoint. Without it no event is believed and nothing is sold.',
    as: webhookSecret,
    unset: 'the webhook answers 503',
    secret: true,
  })
  readonly processorWebhookSecret?: string;

  @Setting({
    name: 'PROCESSOR_WEBHOOK_SECRET_PREVIOUS',
    group: 'Payments',
    describe: 'The signing secret before it, believed as well while it is being replaced.',
    as: webhookSecret,
    unset: 'none',
    secret: true,
  })
  readonly processorWebhookSecretPrevious?: string;

  @Setting({
    name: 'PROCESSOR_API_URL',
    group: 'Payments',
    describe: 'Where the interface of the processor answers; tests name a simulator.',
    as: publicOrigin,
    default: 'https://api.stripe.com',
  })
  readonly processorApiUrl: string;
}
