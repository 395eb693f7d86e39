import { splitList, parsePair, SERVICE_NAME } from './http-services';
import { duration, type SettingReader, wholeNumber } from './readers';
import {
  credentialIn,
  storageLocationOf,
  storageOptions,
  storageOrigin,
  type StorageLocation,
} from './storage-location';

interface CommonSinkSetting {
  readonly name: string;
  readonly timeoutMs: number;
  readonly batch: number;
  /** Maximum time that a record waits to be delivered with others. */
  readonly everyMs: number;
}

export interface StorageSinkSetting extends CommonSinkSetting {
  readonly kind: 's3';
  readonly place: StorageLocation;
}

export interface PostSinkSetting extends CommonSinkSetting {
  readonly kind: 'langfuse' | 'otlp' | 'datadog';
  readonly url: string;
}

export type SinkSetting = StorageSinkSetting | PostSinkSetting;

// Datadog documentation, "Getting started with Datadog sites".
const datadogSites = [
  'datadoghq.com',
  'us3.datadoghq.com',
  'us5.datadoghq.com',
  'datadoghq.eu',
  'ap1.datadoghq.com',
  'ap2.datadoghq.com',
  'uk1.datadoghq.com',
  'ddog-gov.com',
  'us2.ddog-gov.com',
];

const commonOptions = ['timeout', 'batch', 'every'];
const optionReaders = {
  timeout: duration('1s', '5m'),
  every: duration('0ms', '1h'),
  batch: wholeNumber(1, 5_000),
};
const defaultOptions = {
  s3: { timeout: '60s', batch: '1000', every: '60s' },
  langfuse: { timeout: '20s', batch: '100', every: '0ms' },
  otlp: { timeout: '20s', batch: '500', every: '0ms' },
  datadog: { timeout: '20s', batch: '500', every: '0ms' },
};

/** Such as `lake=s3://bucket/records#region=eu-central-1`, or `traces=langfuse:https://cloud.langfuse.com`. */
export const sinks: SettingReader<readonly SinkSetting[]> = {
  expects:
    'NAME=s3://BUCKET/PREFIX#region=…, NAME=langfuse:URL, NAME=otlp:URL or NAME=datadog:SITE with commas between them, each with #timeout=…&batch=…&every=… where it differs from the usual',
  read(value) {
    const sinksByName = new Map<string, SinkSetting>();
    for (const entry of splitList(value)) {
      const [, name = '', address = '', fragment = ''] = /^([^=]*)=([^#]*)(?:#(.*))?$/.exec(entry) ?? [];
      const sink = sinkOf(name, address, new Map(fragment.split('&').filter(Boolean).map(parsePair)));
      if (sink === undefined || !SERVICE_NAME.test(name) || sinksByName.has(name)) return undefined;
      sinksByName.set(name, sink);
    }
    return [...sinksByName.values()];
  },
};

function sinkOf(
  name: string,
  address: string,
  options: ReadonlyMap<string, string>,
): SinkSetting | undefined {
  const [, kind, rest = ''] = /^(s3|langfuse|otlp|datadog):(.+)$/.exec(address) ?? [];
  if (kind === undefined) return undefined;
  const kindOptions: readonly string[] = kind === 's3' ? storageOptions : [];
  if ([...options.keys()].some((option) => !commonOptions.includes(option) && !kindOptions.includes(option)))
    return undefined;
  const { timeout, batch, every } = defaultOptions[kind as SinkSetting['kind']];
  const timeoutMs = optionReaders.timeout.read(options.get('timeout') ?? timeout);
  const records = optionReaders.batch.read(options.get('batch') ?? batch);
  const everyMs = optionReaders.every.read(options.get('every') ?? every);
  if (timeoutMs === undefined || records === undefined || everyMs === undefined) return undefined;
  // Maximum that Datadog accepts per request (documentation of its API, "Send logs").
  if (kind === 'datadog' && records > 1_000) return undefined;
  const shared = { name, timeoutMs, batch: records, everyMs };
  if (kind === 's3') {
    const location = storageLocationOf(address, options);
    return location === undefined ? undefined : { ...shared, kind, place: location };
  }
  const url = urlOf(kind as PostSinkSetting['kind'], rest);
  return url === undefined ? undefined : { ...shared, kind: kind as PostSinkSetting['kind'], url };
}

const paths = { langfuse: '/api/public/otel/v1/traces', otlp: '/v1/logs', datadog: '/api/v2/logs' };

/** URL that records are posted to; one that already ends with the path stays unchanged. */
function urlOf(kind: PostSinkSetting['kind'], text: string): string | undefined {
  if (kind === 'datadog' && datadogSites.includes(text))
    return `https://http-intake.logs.${text}${paths.datadog}`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !['http:', 'https:'].includes(url.protocol) || url.hostname === '')
    return undefined;
  // A page shows the URL, so it must not contain a secret.
  if (url.username !== '' || url.password !== '' || url.search !== '') return undefined;
  const path = url.pathname.replace(/\/+$/, '');
  return `${url.origin}${path.endsWith(paths[kind]) ? path : path + paths[kind]}`;
}

/** Credentials of each sink. A name can be repeated: an OTLP sink can have several headers. */
export const sinkSecrets: SettingReader<ReadonlyMap<string, readonly string[]>> = {
  expects:
    'NAME=ACCESS_KEY_ID:SECRET for s3, NAME=pk-…:sk-… for langfuse, NAME=API_KEY for datadog, NAME=HEADER: VALUE for otlp, with commas between them',
  read(value) {
    const secrets = new Map<string, string[]>();
    for (const entry of splitList(value)) {
      const [name, secret] = parsePair(entry);
      if (!SERVICE_NAME.test(name) || secret === '') return undefined;
      secrets.set(name, [...(secrets.get(name) ?? []), secret]);
    }
    return secrets;
  },
};

/** Reason why the secrets of a sink are unsuitable; null if they are suitable. Never repeats them. */
export function secretProblem(
  { kind, name }: SinkSetting,
  secrets: ReadonlyMap<string, readonly string[]>,
): string | null {
  const values = secrets.get(name) ?? [];
  if (kind === 'otlp')
    return values.every((one) => headerIn(one) !== undefined)
      ? null
      : `has for the sink ${name} something that is not a header such as authorization: Bearer …`;
  const [secret = '', ...others] = values;
  if (secret === '') return `has no secret for the sink ${name}`;
  if (others.length > 0) return `has more than one secret for the sink ${name}`;
  const fits =
    kind === 's3'
      ? credentialIn(secret) !== undefined
      : kind === 'langfuse'
        ? /^[\w-]{4,128}:[\w-]{4,128}$/.test(secret)
        : /^[\w-]{16,128}$/.test(secret);
  return fits ? null : `has for the sink ${name} a secret of another form than that of ${kind}`;
}

/** Parses a header field in its usual spelling. */
export function headerIn(text: string): readonly [name: string, value: string] | undefined {
  const [, name, value] = /^([!#$%&'*+.^`|~\w-]+): ?([\x20-\x7e]+)$/.exec(text) ?? [];
  return name === undefined || value === undefined ? undefined : [name.toLowerCase(), value];
}

/** Origin that requests of a sink go to; it can be private, since the operator configured it. */
export const sinkOrigin = (sink: SinkSetting): string =>
  sink.kind === 's3' ? storageOrigin(sink.place) : sink.url;
