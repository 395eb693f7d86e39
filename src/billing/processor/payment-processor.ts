import type Stripe from 'stripe';
import { Inject, Injectable } from '@nestjs/common';
import { Fault, fault } from '../../kernel';
import { OutgoingClient, Settings } from '../../platform';
import { handledEvents } from './events';

/** The SDK as it was loaded, or null where no account is set up. */
export const LOADED_SDK = Symbol('payment processor SDK');

type Sdk = typeof import('stripe');

export interface ProcessorRefusal {
  readonly said: string;
  /** The processor's own; some refusals have none. */
  readonly code: string | null;
}

const TIMEOUT_MS = 15_000;
const RETRIES = 2;
/** A list of a hundred events with all they carry. */
const BOUNDS = { mostBytes: 16 * 1024 * 1024, deadlineMs: TIMEOUT_MS };
/** So many characters of a refusal are passed on. */
const MOST_SAID = 300;
/** The tolerance of an event's signing time. */
const TOLERANCE_SECONDS = 300;

/** Loaded on first use: most installations have no payment processor. */
export async function loadSdk({ processorSecretKey }: Settings): Promise<Sdk | null> {
  if (processorSecretKey === undefined) return null;
  return (await import('stripe')).default as unknown as Sdk;
}

/** The account at the payment processor. */
@Injectable()
export class PaymentProcessor {
  private client: Stripe | null;

  constructor(
    @Inject(LOADED_SDK) private readonly sdk: Sdk | null,
    private readonly settings: Settings,
    private readonly outgoing: OutgoingClient,
  ) {
    this.client = this.clientAt(settings.processorApiUrl);
  }

  /** A simulated processor takes the payments: it has another address at every start. */
  get isSandbox(): boolean {
    return this.settings.processor === 'sandbox';
  }

  /** Has the sandbox bring its events to this address. */
  async useSandbox(url: string, webhook: string): Promise<void> {
    this.client = this.clientAt(url);
    await this.call((client) =>
      client.webhookEndpoints.create({ url: webhook, enabled_events: [...handledEvents] }),
    );
  }

  /** The version of the interface that is spoken, and in which events are read. */
  get apiVersion(): string | null {
    return this.sdk?.API_VERSION ?? null;
  }

  /** The processor leads a person back to this address. */
  returnAddress(path: string): string {
    return `${this.settings.baseUrl}${path}`;
  }

  /** A key to charge with, and a secret to verify its webhooks. */
  get isConnected(): boolean {
    return this.client !== null && this.settings.processorWebhookSecret !== undefined;
  }

  get isTestMode(): boolean {
    return this.settings.processorSecretKey?.slice(3, 7) === 'test';
  }

  get isLiveMode(): boolean {
    return this.settings.processorSecretKey?.slice(3, 7) === 'live';
  }

  /** It was made with a key of the other mode, which this one does not know. */
  isOfOtherMode(live: boolean | null): boolean {
    return live !== null && (live ? this.isTestMode : this.isLiveMode);
  }

  /** The same where a key is enough, as for a configuration check. */
  async ask<Answer>(work: (client: Stripe) => Promise<Answer>): Promise<Answer> {
    if (this.client === null)
      throw fault('billing_unavailable', { message: 'No payment processor is connected to this service.' });
    return work(this.client);
  }

  /** Calls the processor. Its refusals and failures are mapped to codes of the catalogue. */
  async call<Answer>(work: (client: Stripe) => Promise<Answer>): Promise<Answer> {
    const client = this.requireConnection();
    try {
      return await work(client);
    } catch (error) {
      throw this.isCardError(error) ? error : this.translated(error);
    }
  }

  requireConnection(): Stripe {
    if (this.client !== null && this.isConnected) return this.client;
    throw fault('billing_unavailable', {
      message: 'Payments are not set up here: the operator has not connected a payment processor.',
    });
  }

  /** The processor understood the call and refused it in these words; null where the outcome is not known. */
  refusalOf(error: unknown): ProcessorRefusal | null {
    if (this.sdk === null) return null;
    const cause = error instanceof Fault ? error.options.cause : error;
    const { StripeInvalidRequestError, StripeCardError } = this.sdk.errors;
    if (!(cause instanceof StripeInvalidRequestError || cause instanceof StripeCardError)) return null;
    return { said: cause.message.slice(0, MOST_SAID), code: cause.code ?? null };
  }

  /** The card was declined, or its owner has to confirm the payment. */
  isCardError(error: unknown): error is Stripe.errors.StripeCardError {
    return this.sdk !== null && error instanceof this.sdk.errors.StripeCardError;
  }

  /** The customer of a call was deleted at the processor, or is one of the other mode. */
  isWithoutCustomer(error: unknown): boolean {
    const cause = error instanceof Error ? error.cause : null;
    if (this.sdk === null || !(cause instanceof this.sdk.errors.StripeError)) return false;
    return cause.code === 'resource_missing' && cause.param === 'customer';
  }

  /** Checked before a byte is read: without a secret no event can be verified. */
  requireSecret(): void {
    if (this.sdk !== null && this.settings.processorWebhookSecret !== undefined) return;
    throw fault('billing_unavailable', {
      message: 'Events are not taken: no signing secret is set (PROCESSOR_WEBHOOK_SECRET).',
    });
  }

  /**
   * Refuses bytes without a valid signature by one of our two secrets, or with a signing time outside five minutes of
   * now. A header with two times is refused: the one that is checked must be the one that is signed.
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

  private clientAt(url: string): Stripe | null {
    const { processorSecretKey: key } = this.settings;
    if (this.sdk === null || key === undefined) return null;
    const { protocol, hostname, port } = new URL(url);
    return new this.sdk(key, {
      host: hostname,
      ...(port === '' ? {} : { port }),
      protocol: protocol === 'http:' ? 'http' : 'https',
      maxNetworkRetries: RETRIES,
      timeout: TIMEOUT_MS,
      httpClient: this.sdk.createFetchHttpClient(this.outgoing.fetchWithin(BOUNDS)),
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

  private translated(error: unknown): unknown {
    if (this.sdk === null || !(error instanceof this.sdk.errors.StripeError)) return error;
    if (error.code === 'resource_missing') return fault('not_found', { cause: error });
    return fault('billing_unavailable', {
      message: 'The payment processor could not be asked. Nothing was charged; try again shortly.',
      cause: error,
    });
  }
}
