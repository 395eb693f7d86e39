import { createHmac } from 'node:crypto';

/**
 * Headers of Standard Webhooks, with which a receiver verifies the sender and the time of a message. Every secret
 * signs, so that secrets can be rotated.
 */
export function webhookHeaders(
  secrets: readonly Buffer[],
  { id, body, now }: { readonly id: string; readonly body: string; readonly now: number },
): Record<string, string> {
  const timestamp = String(Math.floor(now / 1_000));
  const signatures = secrets.map(
    (secret) => `v1,${createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64')}`,
  );
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}
