import type { Row } from '../../platform';
import type { Severity } from '../catalogue/kinds';
import type { Facts } from '../looks/look';

export const channelKinds = ['mail', 'webhook', 'slack', 'teams', 'pagerduty'] as const;
export type ChannelKind = (typeof channelKinds)[number];
export type SentChannelKind = Exclude<ChannelKind, 'mail'>;

export const audiences = ['owners', 'administrators'] as const;
export type Audience = (typeof audiences)[number];

/** A channel without what is secret of it. */
export type Channel = Row<
  'alert_channel',
  | 'id'
  | 'organisation_id'
  | 'name'
  | 'host'
  | 'language'
  | 'enabled'
  | 'created_at'
  | 'succeeded_at'
  | 'failed_at'
  | 'last_error'
> & {
  readonly kind: ChannelKind;
  readonly audience: Audience;
  readonly leastSeverity: Severity;
};

/** Where a channel sends to, and what it proves itself with. */
export interface Target {
  readonly url: string;
  /** The signing secret of a webhook, or the routing key of PagerDuty. */
  readonly key?: string;
}

export type AlertEvent = 'triggered' | 'raised' | 'repeated' | 'acknowledged' | 'resolved';

/** One message about an alert, in words of one language. */
export interface AlertMessage {
  /** The same at every attempt. */
  readonly id: string;
  readonly event: AlertEvent | 'test';
  readonly alertId: string;
  readonly kind: string;
  readonly severity: Severity;
  readonly organisationId: number | null;
  readonly facts: Facts;
  readonly since: Date;
  readonly resolvedAt: Date | null;
  readonly title: string;
  readonly text: string;
  /** What to do about it. */
  readonly advice: string;
  /** The file that says how to go about it. */
  readonly runbook: string | null;
  /** Whose it is, and since when. */
  readonly context: string;
  readonly brand: string;
  /** The page of the alert. */
  readonly url: string;
  readonly linkLabel: string;
  /** The alert, among those of every installation. */
  readonly dedupKey: string;
}

/** What became of an attempt, in the receiver's words. */
export type Outcome =
  | { readonly kind: 'delivered'; readonly words: string }
  | { readonly kind: 'again'; readonly words: string; readonly afterMs?: number }
  /** Another attempt would be refused, too; a channel that is gone takes nothing any more. */
  | { readonly kind: 'refused'; readonly words: string; readonly isGone?: boolean };

interface SentRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

interface Answer {
  readonly status: number;
  readonly body: string;
}

/** How messages are written for a receiver, and how its answers are read. */
export interface Vendor {
  /** Null where the receiver has nothing to do with such a message. */
  request(target: Target, message: AlertMessage, now: number): SentRequest | null;
  judge(answer: Answer): 'delivered' | 'again' | 'refused' | 'gone';
}

/** Texts are cut by whole characters: half of one would make a body that no receiver reads. */
export function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  const short = text.slice(0, most - 1);
  return `${short.isWellFormed() ? short : short.slice(0, -1)}…`;
}

export const JSON_TYPE = { 'content-type': 'application/json' } as const;
