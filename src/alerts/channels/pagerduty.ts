import { type AlertMessage, truncate, JSON_HEADERS, type ChannelAdapter } from './channel';

export const PAGERDUTY_ADDRESSES = [
  'https://events.pagerduty.com/v2/enqueue',
  'https://events.eu.pagerduty.com/v2/enqueue',
] as const;

export const ROUTING_KEY = /^[0-9A-Za-z]{32}$/;

/** Limits of an event (developer.pagerduty.com/docs/send-alert-event). */
const MAX_SUMMARY_LENGTH = 1_024;
const MAX_DEDUP_KEY_LENGTH = 255;

const eventSeverities = { info: 'info', warning: 'warning', urgent: 'critical' } as const;

const actionOf = ({ event }: AlertMessage): 'trigger' | 'acknowledge' | 'resolve' =>
  event === 'acknowledged' ? 'acknowledge' : event === 'resolved' ? 'resolve' : 'trigger';

/**
 * Events API v2 (github.com/PagerDuty/api-schema, reference/events-v2): 202 accepts an event, 400 rejects it
 * permanently; 429 and 5xx are retried.
 */
export const pagerduty: ChannelAdapter = {
  request({ url, key }, message) {
    const {
      kind,
      severity,
      facts,
      since,
      title,
      text,
      advice,
      runbook,
      brand,
      url: page,
      linkLabel,
      dedupKey,
    } = message;
    const action = actionOf(message);
    const payload = {
      summary: truncate(`${title} – ${text}`, MAX_SUMMARY_LENGTH),
      timestamp: since.toISOString(),
      severity: eventSeverities[severity],
      source: new URL(page).host,
      class: kind,
      custom_details: { ...facts, advice, ...(runbook !== null && { runbook }) },
    };
    const body = {
      routing_key: key,
      event_action: action,
      dedup_key: dedupKey.slice(-MAX_DEDUP_KEY_LENGTH),
      ...(action === 'trigger'
        ? { payload, client: brand, client_url: page, links: [{ href: page, text: linkLabel }] }
        : {}),
    };
    return { url, headers: JSON_HEADERS, body: JSON.stringify(body) };
  },
  judge({ status }) {
    if (status === 202) return 'delivered';
    return status === 429 || status >= 500 ? 'again' : 'refused';
  },
};
