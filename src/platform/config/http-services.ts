import { duration, type Reader, serviceUrl } from './readers';

const stages = ['request', 'candidates', 'settled'] as const;

/** A tap that another service is: records are posted to it. */
export interface HttpTapSetting {
  readonly name: string;
  readonly url: string;
  readonly timeoutMs: number;
}

/** A gate that another service is: it is asked over HTTP. */
export interface HttpGateSetting extends HttpTapSetting {
  readonly onError: 'open' | 'closed';
  readonly stages: readonly (typeof stages)[number][];
}

export const SERVICE_NAME = /^[a-z][a-z0-9-]{0,62}$/;
const address = serviceUrl('https:', 'http:');

/** Such as `siem=https://siem.internal/records#timeout=30s`. */
export const httpTaps: Reader<readonly HttpTapSetting[]> = {
  expects: 'NAME=URL with commas between them, each with #timeout=… where it is not 10s',
  read: (value) =>
    services(value, ['timeout'], (service, options) => {
      const timeoutMs = duration('100ms', '60s').read(options.get('timeout') ?? '10s');
      return timeoutMs === undefined ? undefined : { ...service, timeoutMs };
    }),
};

/** Such as `pii=https://guard.internal/gate#timeout=500ms&onError=open&stages=request+settled`. */
export const httpGates: Reader<readonly HttpGateSetting[]> = {
  expects:
    'NAME=URL with commas between them, each with #timeout=…&onError=open|closed&stages=request+candidates+settled where it differs from the usual',
  read: (value) =>
    services(value, ['timeout', 'onError', 'stages'], (service, options) => {
      const timeoutMs = duration('1ms', '10s').read(options.get('timeout') ?? '1s');
      const onError = options.get('onError') ?? 'closed';
      const asked = (options.get('stages') ?? 'request').split('+');
      const found = stages.filter((stage) => asked.includes(stage));
      if (timeoutMs === undefined || found.length !== asked.length) return undefined;
      if (onError !== 'open' && onError !== 'closed') return undefined;
      return { ...service, timeoutMs, onError, stages: found };
    }),
};

const MOST_SECRETS = 3;

/** By the names of services, as bytes. A name that stands twice has two secrets, and both sign. */
export const webhookSecrets: Reader<ReadonlyMap<string, readonly Buffer[]>> = {
  expects:
    'NAME=whsec_… with commas between them, each of 24 to 64 bytes in base64, and at most three for one name',
  read(value) {
    const secrets = new Map<string, Buffer[]>();
    for (const entry of listed(value)) {
      const [, name, base64 = ''] = /^([^=]+)=whsec_([A-Za-z0-9+/]+={0,2})$/.exec(entry) ?? [];
      const secret = Buffer.from(base64, 'base64');
      if (name === undefined || secret.length < 24 || secret.length > 64) return undefined;
      secrets.set(name, [...(secrets.get(name) ?? []), secret]);
    }
    return [...secrets.values()].every(({ length }) => length <= MOST_SECRETS) ? secrets : undefined;
  },
};

type NamedService = Pick<HttpTapSetting, 'name' | 'url'>;

/** Every service under a name of its own; undefined where one of them cannot be read. */
function services<Setting extends NamedService>(
  value: string,
  known: readonly string[],
  settingOf: (service: NamedService, options: ReadonlyMap<string, string>) => Setting | undefined,
): readonly Setting[] | undefined {
  const found = new Map<string, Setting>();
  for (const entry of listed(value)) {
    const [, name = '', url = '', fragment = ''] = /^([^=]*)=([^#]*)(?:#(.*))?$/.exec(entry) ?? [];
    const options = new Map(fragment.split('&').filter(Boolean).map(pairIn));
    if (!SERVICE_NAME.test(name) || found.has(name) || address.read(url) === undefined) return undefined;
    if ([...options.keys()].some((option) => !known.includes(option))) return undefined;
    const setting = settingOf({ name, url }, options);
    if (setting === undefined) return undefined;
    found.set(name, setting);
  }
  return [...found.values()];
}

export function pairIn(text: string): readonly [name: string, value: string] {
  const at = text.indexOf('=');
  return at === -1 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}

export const listed = (value: string): string[] =>
  value
    .split(/[,\r\n]/)
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
