import { createHmac } from 'node:crypto';

/**
 * The header fields with which Standard Webhooks lets a receiver check where a message is from, and when. Every secret
 * signs, so that one can take the place of another while both are believed.
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
