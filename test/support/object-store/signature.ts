import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** Error response of S3. */
export class S3Error extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly more: Readonly<Record<string, string>> = {},
  ) {
    super(message);
  }
}

export interface S3AccessKey {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

const MAX_SKEW_MS = 15 * 60_000;
const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, ?SignedHeaders=([a-z0-9;-]+), ?Signature=([0-9a-f]{64})$/;

/**
 * Checks a signature as the Amazon S3 API Reference defines it under "Signature Calculations for the Authorization
 * Header". Uses the request line and headers as received, and no code of the product.
 */
export function checkSignature(
  request: IncomingMessage,
  body: Buffer,
  { key, region, now }: { readonly key: S3AccessKey; readonly region: string; readonly now: Date },
): void {
  const header = (name: string): string | undefined => {
    const value = request.headers[name];
    return Array.isArray(value) ? value.join(',') : value;
  };
  const parts = AUTHORIZATION.exec(header('authorization') ?? '');
  if (parts === null) throw new S3Error(403, 'AccessDenied', 'Access Denied');
  const [, accessKeyId = '', day = '', scopeRegion = '', names = '', signature = ''] = parts;
  if (accessKeyId !== key.accessKeyId)
    throw new S3Error(
      403,
      'InvalidAccessKeyId',
      'The AWS Access Key Id you provided does not exist in our records.',
    );
  if (header('x-amz-security-token') !== key.sessionToken)
    throw new S3Error(400, 'InvalidToken', 'The provided token is malformed or otherwise invalid.');
  if (scopeRegion !== region)
    throw new S3Error(
      400,
      'AuthorizationHeaderMalformed',
      `The authorization header is malformed; the region '${scopeRegion}' is wrong; expecting '${region}'`,
      { Region: region },
    );
  const time = header('x-amz-date') ?? '';
  const at = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(time);
  if (at === null || !time.startsWith(day))
    throw new S3Error(403, 'AccessDenied', 'A valid Date is required.');
  const [year, month, date, hour, minute, second] = at.slice(1).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const sentAt = Date.UTC(year, month - 1, date, hour, minute, second);
  if (Math.abs(sentAt - now.getTime()) > MAX_SKEW_MS)
    throw new S3Error(
      403,
      'RequestTimeTooSkewed',
      'The difference between the request time and the current time is too large.',
    );
  const digest = header('x-amz-content-sha256');
  if (digest === undefined)
    throw new S3Error(
      400,
      'InvalidRequest',
      'Missing required header for this request: x-amz-content-sha256',
    );
  const signedHeaders = names.split(';');
  const requiredHeaders = Object.keys(request.headers).filter(
    (name) => name === 'host' || name.startsWith('x-amz-'),
  );
  if (requiredHeaders.some((name) => !signedHeaders.includes(name)))
    throw new S3Error(403, 'AccessDenied', 'There were headers present in the request which were not signed');
  const [path = '', query = ''] = (request.url ?? '').split(/\?(.*)/s);
  const canonical = [
    request.method ?? '',
    path,
    query
      .split('&')
      .filter(Boolean)
      .sort()
      .map((pair) => (pair.includes('=') ? pair : `${pair}=`))
      .join('&'),
    ...signedHeaders.map((name) => `${name}:${(header(name) ?? '').trim().replace(/\s+/g, ' ')}`),
    '',
    names,
    digest,
  ].join('\n');
  const scope = `${day}/${region}/s3/aws4_request`;
  const toSign = `AWS4-HMAC-SHA256\n${time}\n${scope}\n${createHash('sha256').update(canonical).digest('hex')}`;
  let secret: Buffer = createHmac('sha256', `AWS4${key.secretAccessKey}`).update(day).digest();
  for (const part of [region, 's3', 'aws4_request'])
    secret = createHmac('sha256', secret).update(part).digest();
  const expectedSignature = createHmac('sha256', secret).update(toSign).digest();
  if (!timingSafeEqual(expectedSignature, Buffer.from(signature, 'hex')))
    throw new S3Error(
      403,
      'SignatureDoesNotMatch',
      'The request signature we calculated does not match the signature you provided. Check your key and signing method.',
    );
  if (createHash('sha256').update(body).digest('hex') !== digest)
    throw new S3Error(
      400,
      'XAmzContentSHA256Mismatch',
      "The provided 'x-amz-content-sha256' header does not match what was computed.",
    );
}
