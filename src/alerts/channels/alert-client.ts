import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { fault, refused, SECOND_MS } from '../../kernel';
import {
  AddressGuard,
  addressRedactor,
  type AllowedNetwork,
  ChosenTransport,
  errorCode,
  OutgoingClient,
  redactText,
  Settings,
} from '../../platform';
import type { AlertOwner } from '../catalogue/kinds';
import type { AlertMessage, ChannelKind, Outcome, SentChannelKind, Target, Vendor } from './channel';
import { pagerduty, ROUTING_KEY } from './pagerduty';
import { slack } from './slack';
import { teams } from './teams';
import { SIGNING_SECRET, webhook } from './webhook';

const vendors: Readonly<Record<SentChannelKind, Vendor>> = { webhook, slack, teams, pagerduty };

const DEADLINE_MS = 15 * SECOND_MS;
const MOST_ANSWER_BYTES = 65_536;
const LONGEST_WORDS = 300;
/** A receiver may ask for a longer pause; nobody waits for that. */
const LONGEST_PAUSE_S = 3_600;

const takesKey = (kind: ChannelKind): boolean => kind === 'webhook' || kind === 'pagerduty';

const missing = (name: 'url' | 'key') =>
  fault('missing_fields', { param: name, message: `${name} is missing.`, details: { required: [name] } });

/** The networks that one kind of owner reaches, and the client that goes there. */
interface Reach {
  readonly guard: AddressGuard;
  readonly client: OutgoingClient;
}

/** Sends messages of alerts to the public internet, and to the private networks that the operator allows the owner. */
@Injectable()
export class AlertClient implements OnApplicationShutdown {
  private readonly platform: Reach;
  private readonly organisations: Reach;

  constructor(settings: Settings) {
    const reachOf = (allowed: readonly AllowedNetwork[]): Reach => {
      const guard = new AddressGuard(allowed);
      return { guard, client: new OutgoingClient(new ChosenTransport(settings, guard)) };
    };
    this.platform = reachOf(settings.alertAllow);
    this.organisations = reachOf(settings.organisationAlertAllow);
  }

  onApplicationShutdown(): void {
    this.platform.client.close();
    this.organisations.client.close();
  }

  /** Returns the problem of an address as far as it can be known without resolving its name; null if there is none. */
  problemOf(owner: AlertOwner, address: string): string | null {
    const url = URL.canParse(address) ? new URL(address) : null;
    if (url === null || address.length > 2_048 || !/^[\x21-\x7e]+$/.test(address)) return 'cannot be read';
    if (url.username !== '' || url.password !== '') return 'has credentials in it';
    const checked = this.reachOf(owner).guard.checkBaseUrl(url.origin);
    return checked.ok ? null : checked.error;
  }

  /** Returns what is given of a target, without blanks; throws if a part cannot be used for this kind of channel. */
  checkTarget(owner: AlertOwner, kind: ChannelKind, { url, key }: Partial<Target>): Partial<Target> {
    if (kind === 'mail') return {};
    const problem = url === undefined ? null : this.problemOf(owner, url.trim());
    if (problem !== null)
      throw refused('url', `an address that may be sent to: this one ${problem}`, {
        reason: 'alert-address',
      });
    if (kind === 'webhook' && key !== undefined && !SIGNING_SECRET.test(key.trim()))
      throw refused('key', 'whsec_ and 24 to 64 bytes in base64', { reason: 'alert-key-webhook' });
    if (kind === 'pagerduty' && key !== undefined && !ROUTING_KEY.test(key.trim()))
      throw refused('key', '32 letters and digits', { reason: 'alert-key-pagerduty' });
    return {
      ...(url === undefined ? {} : { url: url.trim() }),
      ...(takesKey(kind) && key !== undefined ? { key: key.trim() } : {}),
    };
  }

  /** The same for a new channel, which needs every part; null for mail. */
  newTarget(owner: AlertOwner, kind: ChannelKind, given: Partial<Target>): Target | null {
    if (kind === 'mail') return null;
    const { url, key } = this.checkTarget(owner, kind, given);
    if (url === undefined) throw missing('url');
    if (takesKey(kind) && key === undefined) throw missing('key');
    return { url, ...(key === undefined ? {} : { key }) };
  }

  /** Null where the receiver has nothing to do with such a message. */
  async send(
    { organisationId, kind }: { readonly organisationId: AlertOwner; readonly kind: SentChannelKind },
    target: Target,
    message: AlertMessage,
    now = Date.now(),
  ): Promise<Outcome | null> {
    const vendor = vendors[kind];
    const request = vendor.request(target, message, now);
    if (request === null) return null;
    try {
      const answer = await this.reachOf(organisationId).client.read(
        { ...request, method: 'POST' },
        { mostBytes: MOST_ANSWER_BYTES, deadlineMs: DEADLINE_MS },
      );
      const read = { status: answer.status, body: answer.body.toString('utf8') };
      const said = read.body.trim();
      const words = cleaned(`HTTP ${read.status}${said === '' ? '' : `: ${said}`}`, target);
      return outcomeOf(vendor.judge(read), words, pauseOf(answer.headers['retry-after'], now));
    } catch (error) {
      return { kind: 'again', words: cleaned(problemIn(error), target) };
    }
  }

  private reachOf(owner: AlertOwner): Reach {
    return owner === null ? this.platform : this.organisations;
  }
}

/** Neither an internal name's addresses nor those of an allowed network are the owner's to know. */
function problemIn(error: unknown): string {
  const code = errorCode(error);
  if (code === 'ADDRESS_REFUSED') return 'this address is not allowed';
  if (error instanceof Error && 'syscall' in error) return `the receiver cannot be reached (${code})`;
  return error instanceof Error ? error.message : String(error);
}

function outcomeOf(verdict: ReturnType<Vendor['judge']>, words: string, afterMs: number | null): Outcome {
  if (verdict === 'delivered') return { kind: 'delivered', words };
  if (verdict === 'gone') return { kind: 'refused', words, isGone: true };
  if (verdict === 'refused') return { kind: 'refused', words };
  return { kind: 'again', words, ...(afterMs === null ? {} : { afterMs }) };
}

/** Seconds, or a date. */
function pauseOf(header: string | undefined, now: number): number | null {
  if (header === undefined) return null;
  const seconds = /^\d{1,6}$/.test(header) ? Number(header) : (Date.parse(header) - now) / SECOND_MS;
  return Number.isNaN(seconds) ? null : Math.min(Math.max(seconds, 1), LONGEST_PAUSE_S) * SECOND_MS;
}

/** The text of a delivery is stored and shown: one line, without anything of the sealed address and key. */
function cleaned(words: string, { url, key }: Target): string {
  const plain = words.replaceAll(/\s+/g, ' ').replaceAll(/\p{Cc}/gu, '');
  const line = redactText(addressRedactor(url, key === undefined ? [] : [key])(plain));
  return line.length > LONGEST_WORDS ? `${line.slice(0, LONGEST_WORDS)}…` : line;
}
