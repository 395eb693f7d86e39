import type { Severity } from '../catalogue/kinds';
import type { AlertFacts } from '../looks/detector';
import type { AlertChannel } from './alert-channel.entity';

export {
  type Audience,
  audiences,
  type ChannelKind,
  channelKinds,
  type SentChannelKind,
} from './channel-kinds';

/** A channel without its secrets. */
export type Channel = Readonly<Omit<AlertChannel, 'secret'>>;

export interface ChannelTarget {
  readonly url: string;
  /** Signing secret of a webhook, or routing key of PagerDuty. */
  readonly key?: string;
}

export type AlertEvent = 'triggered' | 'raised' | 'repeated' | 'acknowledged' | 'resolved';

export interface AlertMessage {
  /** Stable across attempts. */
  readonly id: string;
  readonly event: AlertEvent | 'test';
  readonly alertId: string;
  readonly kind: string;
  readonly severity: Severity;
  readonly organisationId: number | null;
  readonly facts: AlertFacts;
  readonly since: Date;
  readonly resolvedAt: Date | null;
  readonly title: string;
  readonly text: string;
  readonly advice: string;
  readonly runbook: string | null;
  /** Owner and start of the alert. */
  readonly context: string;
  readonly brand: string;
  readonly url: string;
  readonly linkLabel: string;
  /** Identifies the alert among those of all installations. */
  readonly dedupKey: string;
}

/** Result of an attempt; `text` quotes the receiver's response. */
export type DeliveryOutcome =
  | { readonly kind: 'delivered'; readonly text: string }
  | { readonly kind: 'again'; readonly text: string; readonly afterMs?: number }
  /** Rejected for good; a channel with `isGone` accepts no further messages. */
  | { readonly kind: 'refused'; readonly text: string; readonly isGone?: boolean };

interface ReceiverRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

interface ReceiverResponse {
  readonly status: number;
  readonly body: string;
}

export interface ChannelAdapter {
  /** Null if the receiver does not support such a message. */
  request(target: ChannelTarget, message: AlertMessage, now: number): ReceiverRequest | null;
  judge(response: ReceiverResponse): 'delivered' | 'again' | 'refused' | 'gone';
}

/** Never splits a surrogate pair, which would make a body that receivers cannot parse. */
export function truncate(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  const truncated = text.slice(0, maxLength - 1);
  return `${truncated.isWellFormed() ? truncated : truncated.slice(0, -1)}…`;
}

export const JSON_HEADERS = { 'content-type': 'application/json' } as const;
