import { parsePair } from './http-services';
import type { SettingReader } from './readers';

/** A bucket of an S3-compatible store, and the prefix of all names in it. */
export interface StorageLocation {
  /** Without the bucket, such as `https://s3.eu-central-1.amazonaws.com`. */
  readonly endpoint: string;
  readonly region: string;
  readonly bucket: string;
  /** Empty, or ends with a slash. */
  readonly prefix: string;
  /** Position of the bucket in URLs: `https://host/bucket/name` or `https://bucket.host/name`. */
  readonly style: 'path' | 'virtual';
  /**
   * Some stores reject the checksums that S3 keeps with an object. Requests are signed with a digest of the body
   * anyway.
   */
  readonly checksums: boolean;
}

export interface StorageCredential {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

export const storageOptions = ['region', 'endpoint', 'style', 'checksums'] as const;

const ADDRESS = /^s3:\/\/([a-z0-9][a-z0-9._-]{1,61}[a-z0-9])(?:\/((?:(?!\p{Cc})[^#?])*))?$/u;
const REGION = /^[a-z0-9][a-z0-9-]{1,62}$/;

/** Such as `s3://bucket/prefix#region=eu-central-1`, or `s3://bucket#endpoint=https://minio.internal:9000`. */
export const storageLocation: SettingReader<StorageLocation> = {
  expects:
    's3://BUCKET/PREFIX#region=…, with &endpoint=…&style=path|virtual&checksums=off where it is not AWS',
  read(value) {
    const [address = '', fragment = ''] = value.split(/#(.*)/s);
    const options = new Map(fragment.split('&').filter(Boolean).map(parsePair));
    const isKnown = [...options.keys()].every((name) => (storageOptions as readonly string[]).includes(name));
    return isKnown ? storageLocationOf(address, options) : undefined;
  },
};

/** Parses an address and its options; undefined if they are invalid. */
export function storageLocationOf(
  address: string,
  options: ReadonlyMap<string, string>,
): StorageLocation | undefined {
  const [, bucket, path = ''] = ADDRESS.exec(address) ?? [];
  const customEndpoint = options.get('endpoint');
  const region = options.get('region') ?? (customEndpoint === undefined ? '' : 'us-east-1');
  const style =
    options.get('style') ?? (customEndpoint === undefined && !bucket?.includes('.') ? 'virtual' : 'path');
  const checksums = options.get('checksums') ?? 'on';
  const endpoint = customEndpoint === undefined ? endpointOf(region) : originOf(customEndpoint);
  const prefix = path.replace(/^\/+/, '').replace(/\/*$/, (end) => (path === '' ? end : '/'));
  if (bucket === undefined || endpoint === undefined || !REGION.test(region)) return undefined;
  if ((style !== 'path' && style !== 'virtual') || (checksums !== 'on' && checksums !== 'off'))
    return undefined;
  if (prefix.split('/').some((part) => part === '.' || part === '..')) return undefined;
  return { endpoint, region, bucket, prefix, style, checksums: checksums === 'on' };
}

/** Such as `AKIA…:secret`, with a session token after another colon. */
export function credentialIn(text: string): StorageCredential | undefined {
  const [, accessKeyId, secretAccessKey, sessionToken] =
    /^([\w.-]{3,128}):([\w+/=.-]{8,256})(?::([\w+/=.-]{16,4096}))?$/.exec(text) ?? [];
  if (accessKeyId === undefined || secretAccessKey === undefined) return undefined;
  return { accessKeyId, secretAccessKey, ...(sessionToken === undefined ? {} : { sessionToken }) };
}

export function storageOrigin({ endpoint, bucket, style }: StorageLocation): string {
  if (style === 'path') return endpoint;
  const url = new URL(endpoint);
  return `${url.protocol}//${bucket}.${url.host}`;
}

// China is a partition of its own (AWS General Reference, "Amazon S3 endpoints").
const endpointOf = (region: string): string =>
  `https://s3.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`;

function originOf(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !['http:', 'https:'].includes(url.protocol)) return undefined;
  const isPlain = url.pathname === '/' && !url.search && !url.hash && !url.username && !url.password;
  return isPlain ? url.origin : undefined;
}
