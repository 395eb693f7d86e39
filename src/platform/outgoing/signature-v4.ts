import { createHash, createHmac } from 'node:crypto';

export interface SigningKey {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Only for temporary keys. */
  readonly sessionToken?: string | undefined;
}

export interface RequestToSign {
  readonly method: string;
  readonly url: URL;
  /** All of them are signed, in addition to the host and the time. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | string;
  /** SHA-256 of the body in hexadecimal digits, if known. */
  readonly digest?: string;
}

export interface SigningScope {
  readonly region: string;
  readonly service: string;
  readonly now: Date;
  /** Object storage uses paths as in the URL; every other service encodes them again. */
  readonly path?: 'as-it-stands';
}

const ALGORITHM = 'AWS4-HMAC-SHA256';

/** Headers that authenticate a request to AWS (Signature Version 4). */
export function signRequest(
  request: RequestToSign,
  credential: SigningKey,
  { region, service, now, path }: SigningScope,
): Record<string, string> {
  const time = now.toISOString().replace(/[:-]|\.\d{3}/g, '');
  const scope = `${time.slice(0, 8)}/${region}/${service}/aws4_request`;
  const added: Record<string, string> = { 'x-amz-date': time };
  if (credential.sessionToken !== undefined) added['x-amz-security-token'] = credential.sessionToken;
  const { pathname } = request.url;
  const { text, names } = canonicalRequest(
    request,
    path === undefined ? encodeAgain(pathname) : pathname,
    added,
  );
  const stringToSign = [ALGORITHM, time, scope, sha256(text)].join('\n');
  const key = scope
    .split('/')
    .reduce((secret: string | Buffer, part) => hmac(secret, part), `AWS4${credential.secretAccessKey}`);
  const signature = hmac(key, stringToSign).toString('hex');
  const authorization = `${ALGORITHM} Credential=${credential.accessKeyId}/${scope}, SignedHeaders=${names}, Signature=${signature}`;
  return { ...added, authorization };
}

function canonicalRequest(
  { method, url, headers, body, digest }: RequestToSign,
  path: string,
  added: Readonly<Record<string, string>>,
): { text: string; names: string } {
  const signed = Object.entries({ ...headers, ...added, host: url.host })
    .map(([name, value]) => [name.toLowerCase(), value.trim().replace(/ +/g, ' ')] as const)
    .sort(byCodeUnits);
  const names = signed.map(([name]) => name).join(';');
  const lines = signed.map(([name, value]) => `${name}:${value}\n`).join('');
  return { text: [method, path, queryOf(url), lines, names, digest ?? sha256(body)].join('\n'), names };
}

const encodeAgain = (path: string): string => path.split('/').map(uriEncode).join('/');

const queryOf = (url: URL): string =>
  [...url.searchParams]
    .map(([name, value]) => [uriEncode(name), uriEncode(value)] as const)
    .sort(byCodeUnits)
    .map(([name, value]) => `${name}=${value}`)
    .join('&');

/** Sorts by code units, as the specification does, not by the rules of a language. */
function byCodeUnits(a: readonly [string, string], b: readonly [string, string]): number {
  const [one, two] = a[0] === b[0] ? [a[1], b[1]] : [a[0], b[0]];
  return one < two ? -1 : one > two ? 1 : 0;
}

/** Also encodes what `encodeURIComponent` leaves unencoded, contrary to the specification. */
export const uriEncode = (text: string): string =>
  encodeURIComponent(text).replace(
    /[!'()*]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  );

const sha256 = (text: string | Buffer): string => createHash('sha256').update(text).digest('hex');

const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();
