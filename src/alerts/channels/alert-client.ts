import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { fault, invalidField, SECOND_MS } from '../../kernel';
import {
  AddressGuard,
  addressRedactor,
  type AllowedNetwork,
  SelectingTransport,
  errorCode,
  OutgoingClient,
  redactText,
  Settings,
} from '../../platform';
import type { AlertOwner } from '../catalogue/kinds';
import type {
  AlertMessage,
  ChannelKind,
  DeliveryOutcome,
  SentChannelKind,
  ChannelTarget,
  ChannelAdapter,
} from './channel';
import { pagerduty, ROUTING_KEY } from './pagerduty';
import { slack } from './slack';
import { teams } from './teams';
import { SIGNING_SECRET, webhook } from './webhook';

const adapters: Readonly<Record<SentChannelKind, ChannelAdapter>> = { webhook, slack, teams, pagerduty };

const DEADLINE_MS = 15 * SECOND_MS;
const MAX_RESPONSE_BYTES = 65_536;
const MAX_TEXT_LENGTH = 300;
const MAX_PAUSE_S = 3_600;

const takesKey = (kind: ChannelKind): boolean => kind === 'webhook' || kind === 'pagerduty';

const missingTargetField = (name: 'url' | 'key') =>
  fault('missing_fields', { param: name, message: `${name} is missing.`, details: { required: [name] } });

interface NetworkAccess {
  readonly guard: AddressGuard;
  readonly client: OutgoingClient;
}

/** Sends alert messages to the public internet, and to private networks that the operator allows for the owner. */
@Injectable()
export class AlertClient implements OnApplicationShutdown {
  private readonly platform: NetworkAccess;
  private readonly organisations: NetworkAccess;

  constructor(settings: Settings) {
    const createAccess = (allowed: readonly AllowedNetwork[]): NetworkAccess => {
      const guard = new AddressGuard(allowed);
      return { guard, client: new OutgoingClient(new SelectingTransport(settings, guard)) };
    };
    this.platform = createAccess(settings.alertAllow);
    this.organisations = createAccess(settings.organisationAlertAllow);
  }

  onApplicationShutdown(): void {
    this.platform.client.close();
    this.organisations.client.close();
  }

  /** Returns the problem of an address without resolving its name; null if there is none. */
  findAddressProblem(owner: AlertOwner, address: string): string | null {
    const url = URL.canParse(address) ? new URL(address) : null;
    if (url === null || address.length > 2_048 || !/^[\x21-\x7e]+$/.test(address)) return 'cannot be read';
    if (url.username !== '' || url.password !== '') return 'has credentials in it';
    const checked = this.accessOf(owner).guard.checkBaseUrl(url.origin);
    return checked.ok ? null : checked.error;
  }

  checkTarget(
    owner: AlertOwner,
    kind: ChannelKind,
    { url, key }: Partial<ChannelTarget>,
  ): Partial<ChannelTarget> {
    if (kind === 'mail') return {};
    const problem = url === undefined ? null : this.findAddressProblem(owner, url.trim());
    if (problem !== null)
      throw invalidField('url', `an address that may be sent to: this one ${problem}`, {
        reason: 'alert-address',
      });
    if (kind === 'webhook' && key !== undefined && !SIGNING_SECRET.test(key.trim()))
      throw invalidField('key', 'whsec_ and 24 to 64 bytes in base64', { reason: 'alert-key-webhook' });
    if (kind === 'pagerduty' && key !== undefined && !ROUTING_KEY.test(key.trim()))
      throw invalidField('key', '32 letters and digits', { reason: 'alert-key-pagerduty' });
    return {
      ...(url === undefined ? {} : { url: url.trim() }),
      ...(takesKey(kind) && key !== undefined ? { key: key.trim() } : {}),
    };
  }

  newTarget(owner: AlertOwner, kind: ChannelKind, input: Partial<ChannelTarget>): ChannelTarget | null {
    if (kind === 'mail') return null;
    const { url, key } = this.checkTarget(owner, kind, input);
    if (url === undefined) throw missingTargetField('url');
    if (takesKey(kind) && key === undefined) throw missingTargetField('key');
    return { url, ...(key === undefined ? {} : { key }) };
  }

  /** Null if the receiver does not support such a message. */
  async send(
    { organisationId, kind }: { readonly organisationId: AlertOwner; readonly kind: SentChannelKind },
    target: ChannelTarget,
    message: AlertMessage,
    now = Date.now(),
  ): Promise<DeliveryOutcome | null> {
    const adapter = adapters[kind];
    const request = adapter.request(target, message, now);
    if (request === null) return null;
    try {
      const response = await this.accessOf(organisationId).client.read(
        { ...request, method: 'POST' },
        { mostBytes: MAX_RESPONSE_BYTES, deadlineMs: DEADLINE_MS },
      );
      const receiverResponse = { status: response.status, body: response.body.toString('utf8') };
      const bodyText = receiverResponse.body.trim();
      const text = sanitise(
        `HTTP ${receiverResponse.status}${bodyText === '' ? '' : `: ${bodyText}`}`,
        target,
      );
      return outcomeOf(
        adapter.judge(receiverResponse),
        text,
        parseRetryAfter(response.headers['retry-after'], now),
      );
    } catch (error) {
      return { kind: 'again', text: sanitise(describeError(error), target) };
    }
  }

  private accessOf(owner: AlertOwner): NetworkAccess {
    return owner === null ? this.platform : this.organisations;
  }
}

/** Hides addresses of internal names and of allowed networks from the owner. */
function describeError(error: unknown): string {
  const code = errorCode(error);
  if (code === 'ADDRESS_REFUSED') return 'this address is not allowed';
  if (error instanceof Error && 'syscall' in error) return `the receiver cannot be reached (${code})`;
  return error instanceof Error ? error.message : String(error);
}

function outcomeOf(
  verdict: ReturnType<ChannelAdapter['judge']>,
  text: string,
  afterMs: number | null,
): DeliveryOutcome {
  if (verdict === 'delivered') return { kind: 'delivered', text };
  if (verdict === 'gone') return { kind: 'refused', text, isGone: true };
  if (verdict === 'refused') return { kind: 'refused', text };
  return { kind: 'again', text, ...(afterMs === null ? {} : { afterMs }) };
}

function parseRetryAfter(header: string | undefined, now: number): number | null {
  if (header === undefined) return null;
  const seconds = /^\d{1,6}$/.test(header) ? Number(header) : (Date.parse(header) - now) / SECOND_MS;
  return Number.isNaN(seconds) ? null : Math.min(Math.max(seconds, 1), MAX_PAUSE_S) * SECOND_MS;
}

/** Result texts are stored and displayed: one line, without any part of the sealed address and key. */
function sanitise(text: string, { url, key }: ChannelTarget): string {
  const plain = text.replaceAll(/\s+/g, ' ').replaceAll(/\p{Cc}/gu, '');
  const line = redactText(addressRedactor(url, key === undefined ? [] : [key])(plain));
  return line.length > MAX_TEXT_LENGTH ? `${line.slice(0, MAX_TEXT_LENGTH)}…` : line;
}
