import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { SECOND_MS } from '../../kernel';
import { AddressGuard, ChosenTransport, OutgoingClient, redactText, Settings } from '../../platform';
import type { AlertMessage, Answer, Outcome, SentChannelKind, Target, Vendor } from './channel';
import { pagerduty } from './pagerduty';
import { slack } from './slack';
import { teams } from './teams';
import { webhook } from './webhook';

const vendors: Readonly<Record<SentChannelKind, Vendor>> = { webhook, slack, teams, pagerduty };

const DEADLINE_MS = 15 * SECOND_MS;
const MOST_ANSWER_BYTES = 65_536;
const LONGEST_WORDS = 300;
/** A receiver may ask for a longer pause; nobody waits for that. */
const LONGEST_PAUSE_S = 3_600;

/** Sends messages of alerts. Addresses are those that organisations name, so that only public ones are reached. */
@Injectable()
export class AlertClient implements OnApplicationShutdown {
  private readonly guard: AddressGuard;
  private readonly client: OutgoingClient;

  constructor(settings: Settings) {
    this.guard = new AddressGuard(settings.alertAllow);
    this.client = new OutgoingClient(new ChosenTransport(settings, this.guard));
  }

  onApplicationShutdown(): void {
    this.client.close();
  }

  /** What is wrong with an address, as far as it can be said without asking for its name; null where nothing is. */
  problemOf(address: string): string | null {
    const url = URL.canParse(address) ? new URL(address) : null;
    if (url === null || address.length > 2_048 || !/^[\x21-\x7e]+$/.test(address)) return 'cannot be read';
    if (url.username !== '' || url.password !== '') return 'has credentials in it';
    const checked = this.guard.checkBaseUrl(url.origin);
    return checked.ok ? null : checked.error;
  }

  /** Null where the receiver has nothing to do with such a message. */
  async send(
    kind: SentChannelKind,
    target: Target,
    message: AlertMessage,
    now = Date.now(),
  ): Promise<Outcome | null> {
    const vendor = vendors[kind];
    const request = vendor.request(target, message, now);
    if (request === null) return null;
    try {
      const answer = await this.client.read(
        { ...request, method: 'POST' },
        { mostBytes: MOST_ANSWER_BYTES, deadlineMs: DEADLINE_MS },
      );
      const read = { status: answer.status, body: answer.body.toString('utf8') };
      return outcomeOf(vendor, read, answer.headers['retry-after'], now);
    } catch (error) {
      return {
        kind: 'again',
        words: cleaned(error instanceof Error ? error.message : String(error), target),
      };
    }
  }
}

function outcomeOf(vendor: Vendor, answer: Answer, retryAfter: string | undefined, now: number): Outcome {
  const words = cleaned(`HTTP ${answer.status}${answer.body.trim() === '' ? '' : `: ${answer.body.trim()}`}`);
  const verdict = vendor.judge(answer);
  if (verdict === 'delivered') return { kind: 'delivered', words };
  if (verdict === 'gone') return { kind: 'refused', words, isGone: true };
  if (verdict === 'refused') return { kind: 'refused', words };
  const afterMs = pauseOf(retryAfter, now);
  return { kind: 'again', words, ...(afterMs === null ? {} : { afterMs }) };
}

/** Seconds, or a date. */
function pauseOf(header: string | undefined, now: number): number | null {
  if (header === undefined) return null;
  const seconds = /^\d{1,6}$/.test(header) ? Number(header) : (Date.parse(header) - now) / SECOND_MS;
  return Number.isNaN(seconds) ? null : Math.min(Math.max(seconds, 1), LONGEST_PAUSE_S) * SECOND_MS;
}

/** An answer is shown on a page: one line, without what may be a secret, and without the address that is one. */
function cleaned(words: string, target?: Target): string {
  const plain = words.replaceAll(/\s+/g, ' ').replaceAll(/\p{Cc}/gu, '');
  const hidden = target === undefined ? plain : plain.replaceAll(target.url, new URL(target.url).host);
  const line = redactText(hidden);
  return line.length > LONGEST_WORDS ? `${line.slice(0, LONGEST_WORDS)}…` : line;
}
