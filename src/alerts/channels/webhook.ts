import { webhookHeaders } from '../../platform';
import { JSON_TYPE, type Vendor } from './channel';

/** A secret as Standard Webhooks writes it: `whsec_` and 24 to 64 bytes in base64. */
export const SIGNING_SECRET = /^whsec_[A-Za-z0-9+/]{32,88}={0,2}$/;

const secretOf = (key: string): Buffer => Buffer.from(key.replace('whsec_', ''), 'base64');

/**
 * Standard Webhooks 1.0.0: any 2xx says that the message is taken, 410 that the receiver wants no more, and all else
 * is tried again (github.com/standard-webhooks/standard-webhooks, spec/standard-webhooks.md).
 */
export const webhook: Vendor = {
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
    return { url, headers: { ...JSON_TYPE, ...webhookHeaders([secretOf(key)], { id, body, now }) }, body };
  },
  judge({ status }) {
    if (status >= 200 && status <= 299) return 'delivered';
    return status === 410 ? 'gone' : 'again';
  },
};
