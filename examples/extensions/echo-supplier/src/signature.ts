import { createHash, createHmac } from 'node:crypto';
import type { SigningCredential } from '@switchboard/extension';

/** Signs a request, so that echo can identify the caller. A copied request becomes invalid after a minute. */
export function signature(
  { accessKeyId, secretAccessKey }: SigningCredential,
  path: string,
  body: string,
  at: Date,
): Readonly<Record<string, string>> {
  const time = String(Math.floor(at.getTime() / 1_000));
  const digest = createHash('sha256').update(body).digest('hex');
  return {
    'x-echo-key': accessKeyId,
    'x-echo-time': time,
    'x-echo-signature': createHmac('sha256', secretAccessKey)
      .update(`POST\n${path}\n${time}\n${digest}`)
      .digest('hex'),
  };
}
