import { type AlertMessage, cut, JSON_TYPE, type Vendor } from './channel';

export const PAGERDUTY_ADDRESSES = [
  'https://events.pagerduty.com/v2/enqueue',
  'https://events.eu.pagerduty.com/v2/enqueue',
] as const;

/** The integration key of an Events API v2 integration. */
export const ROUTING_KEY = /^[0-9A-Za-z]{32}$/;

/** Bounds of an event (developer.pagerduty.com/docs/send-alert-event). */
const LONGEST_SUMMARY = 1_024;
const LONGEST_DEDUP_KEY = 255;

const gravity = { info: 'info', warning: 'warning', urgent: 'critical' } as const;

const actionOf = ({ event }: AlertMessage): 'trigger' | 'acknowledge' | 'resolve' =>
  event === 'acknowledged' ? 'acknowledge' : event === 'resolved' ? 'resolve' : 'trigger';

/**
 * Events API v2 (github.com/PagerDuty/api-schema, reference/events-v2): 202 says that an event is taken, 400 that it
 * never will be; 429 and 5xx are tried again.
 */
export const pagerduty: Vendor = {
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
      summary: cut(`${title} – ${text}`, LONGEST_SUMMARY),
      timestamp: since.toISOString(),
      severity: gravity[severity],
      source: new URL(page).host,
      class: kind,
      custom_details: { ...facts, advice, ...(runbook !== null && { runbook }) },
    };
    const body = {
      routing_key: key,
      event_action: action,
      dedup_key: dedupKey.slice(-LONGEST_DEDUP_KEY),
      ...(action === 'trigger'
        ? { payload, client: brand, client_url: page, links: [{ href: page, text: linkLabel }] }
        : {}),
    };
    return { url, headers: JSON_TYPE, body: JSON.stringify(body) };
  },
  judge({ status }) {
    if (status === 202) return 'delivered';
    return status === 429 || status >= 500 ? 'again' : 'refused';
  },
};
