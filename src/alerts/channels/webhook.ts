import { webhookHeaders } from '../../platform';
import { JSON_HEADERS, type ChannelAdapter } from './channel';

/** Secret in the format of Standard Webhooks: `whsec_` and 24 to 64 bytes in base64. */
export const SIGNING_SECRET = /^whsec_[A-Za-z0-9+/]{32,88}={0,2}$/;

const secretOf = (key: string): Buffer => Buffer.from(key.replace('whsec_', ''), 'base64');

/**
 * Standard Webhooks 1.0.0: any 2xx accepts the message, 410 ends the subscription, and all else is retried
 * (github.com/standard-webhooks/standard-webhooks, spec/standard-webhooks.md).
 */
export const webhook: ChannelAdapter = {
  request({ url, key = '' }, message, now) {
    const { id, event, alertId, kind, severity, organisationId, facts, since, resolvedAt } = message;
    const { title, text, advice, runbook, url: page } = message;
    const body = JSON.stringify({
      type: `alert.${event}`,
      timestamp: new Date(now).toISOString(),
      data: {
        ...{ id: alertId, kind, severity, organisation_id: organisationId, title, text, advice, url: page },
        ...(runbook !== null && { runbook }),
        since: since.toISOString(),
        resolved_at: resolvedAt?.toISOString() ?? null,
        facts,
      },
    });
    return { url, headers: { ...JSON_HEADERS, ...webhookHeaders([secretOf(key)], { id, body, now }) }, body };
  },
  judge({ status }) {
    if (status >= 200 && status <= 299) return 'delivered';
    return status === 410 ? 'gone' : 'again';
  },
};
