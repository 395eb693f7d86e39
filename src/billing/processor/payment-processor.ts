import type Stripe from 'stripe';
import { Inject, Injectable } from '@nestjs/common';
import { Fault, fault } from '../../kernel';
import { OutgoingClient, Settings } from '../../platform';
import { handledEvents } from './events';

/** The loaded SDK; null if no account is configured. */
export const LOADED_SDK = Symbol('payment processor SDK');

type Sdk = typeof import('stripe');

export interface ProcessorRefusal {
  readonly message: string;
  /** The processor's own code; null for some refusals. */
  readonly code: string | null;
}

const TIMEOUT_MS = 15_000;
const RETRIES = 2;
/** Large enough for a list of a hundred complete events. */
const RESPONSE_LIMITS = { mostBytes: 16 * 1024 * 1024, deadlineMs: TIMEOUT_MS };
const MAX_MESSAGE_LENGTH = 300;
const TOLERANCE_SECONDS = 300;

/** Loaded on first use: most installations have no payment processor. */
export async function loadSdk({ processorSecretKey }: Settings): Promise<Sdk | null> {
  if (processorSecretKey === undefined) return null;
  return (await import('stripe')).default as unknown as Sdk;
}

@Injectable()
export class PaymentProcessor {
  private client: Stripe | null;

  constructor(
    @Inject(LOADED_SDK) private readonly sdk: Sdk | null,
    private readonly settings: Settings,
    private readonly outgoing: OutgoingClient,
  ) {
    this.client = this.createClient(settings.processorApiUrl);
  }

  /** Whether a simulated processor takes the payments; its address changes at every start. */
  get isSandbox(): boolean {
    return this.settings.processor === 'sandbox';
  }

  async useSandbox(url: string, webhook: string): Promise<void> {
    this.client = this.createClient(url);
    await this.call((client) =>
      client.webhookEndpoints.create({ url: webhook, enabled_events: [...handledEvents] }),
    );
  }

  get apiVersion(): string | null {
    return this.sdk?.API_VERSION ?? null;
  }

  returnAddress(path: string): string {
    return `${this.settings.baseUrl}${path}`;
  }

  /** Whether there is a key to charge with and a secret to verify webhooks. */
  get isConnected(): boolean {
    return this.client !== null && this.settings.processorWebhookSecret !== undefined;
  }

  get isTestMode(): boolean {
    return this.settings.processorSecretKey?.slice(3, 7) === 'test';
  }

  get isLiveMode(): boolean {
    return this.settings.processorSecretKey?.slice(3, 7) === 'live';
  }

  /** Whether an object was created in the other mode, which the configured key cannot read. */
  isFromOtherMode(live: boolean | null): boolean {
    return live !== null && (live ? this.isTestMode : this.isLiveMode);
  }

  /** Calls the processor with only a key, such as for a configuration check. */
  async callWithKeyOnly<Result>(work: (client: Stripe) => Promise<Result>): Promise<Result> {
    if (this.client === null)
      throw fault('billing_unavailable', { message: 'No payment processor is connected to this service.' });
    return work(this.client);
  }

  /** Calls the processor. Maps its refusals and failures to codes of the catalogue. */
  async call<Result>(work: (client: Stripe) => Promise<Result>): Promise<Result> {
    const client = this.requireConnection();
    try {
      return await work(client);
    } catch (error) {
      throw this.isCardError(error) ? error : this.toFault(error);
    }
  }

  requireConnection(): Stripe {
    if (this.client !== null && this.isConnected) return this.client;
    throw fault('billing_unavailable', {
      message: 'Payments are not set up here: the operator has not connected a payment processor.',
    });
  }

  /** Returns the refusal if the processor understood the call; null if the outcome is unknown. */
  refusalOf(error: unknown): ProcessorRefusal | null {
    if (this.sdk === null) return null;
    const cause = error instanceof Fault ? error.options.cause : error;
    const { StripeInvalidRequestError, StripeCardError } = this.sdk.errors;
    if (!(cause instanceof StripeInvalidRequestError || cause instanceof StripeCardError)) return null;
    return { message: cause.message.slice(0, MAX_MESSAGE_LENGTH), code: cause.code ?? null };
  }

  /** Returns whether the card was declined, or its owner has to confirm the payment. */
  isCardError(error: unknown): error is Stripe.errors.StripeCardError {
    return this.sdk !== null && error instanceof this.sdk.errors.StripeCardError;
  }

  /** Returns whether the customer of a call was deleted at the processor, or belongs to the other mode. */
  isMissingCustomer(error: unknown): boolean {
    const cause = error instanceof Error ? error.cause : null;
    if (this.sdk === null || !(cause instanceof this.sdk.errors.StripeError)) return false;
    return cause.code === 'resource_missing' && cause.param === 'customer';
  }

  /** Called before the body is read: without a secret no event can be verified. */
  requireSecret(): void {
    if (this.sdk !== null && this.settings.processorWebhookSecret !== undefined) return;
    throw fault('billing_unavailable', {
      message: 'Events are not taken: no signing secret is set (PROCESSOR_WEBHOOK_SECRET).',
    });
  }

  /**
   * Rejects a body without a valid signature by one of our two secrets, or signed more than five minutes from now. A
   * header with two times is rejected: the verified time must be the signed one.
   */
  verify(body: Buffer, header: string | undefined, now = Date.now()): void {
    this.requireSecret();
    const { processorWebhookSecret, processorWebhookSecretPrevious } = this.settings;
    const secrets = [processorWebhookSecret, processorWebhookSecretPrevious].filter(
      (secret) => secret !== undefined,
    );
    const times = (header ?? '').split(',').filter((part) => part.startsWith('t='));
    const signedAt =
      times.length === 1 ? Number(/^t=(\d{1,12})$/.exec(times[0] ?? '')?.[1] ?? NaN) * 1_000 : NaN;
    const isTimely = Math.abs(now - signedAt) <= TOLERANCE_SECONDS * 1_000;
    if (header === undefined || !isTimely || !secrets.some((secret) => this.isSigned(body, header, secret))) {
      throw fault('invalid_request', { message: 'The signature of this event does not hold.' });
    }
  }

  private createClient(url: string): Stripe | null {
    const { processorSecretKey: key } = this.settings;
    if (this.sdk === null || key === undefined) return null;
    const { protocol, hostname, port } = new URL(url);
    return new this.sdk(key, {
      host: hostname,
      ...(port === '' ? {} : { port }),
      protocol: protocol === 'http:' ? 'http' : 'https',
      maxNetworkRetries: RETRIES,
      timeout: TIMEOUT_MS,
      httpClient: this.sdk.createFetchHttpClient(this.outgoing.fetchWithin(RESPONSE_LIMITS)),
      telemetry: false,
    });
  }

  private isSigned(body: Buffer, header: string, secret: string): boolean {
    if (this.sdk === null) return false;
    try {
      // The time was checked above, in both directions.
      this.sdk.webhooks.signature?.verifyHeader(body, header, secret, Number.MAX_SAFE_INTEGER);
      return this.sdk.webhooks.signature !== undefined;
    } catch (error) {
      if (error instanceof this.sdk.errors.StripeSignatureVerificationError) return false;
      throw error;
    }
  }

  private toFault(error: unknown): unknown {
    if (this.sdk === null || !(error instanceof this.sdk.errors.StripeError)) return error;
    if (error.code === 'resource_missing') return fault('not_found', { cause: error });
    return fault('billing_unavailable', {
      message: 'The payment processor could not be asked. Nothing was charged; try again shortly.',
      cause: error,
    });
  }
}
