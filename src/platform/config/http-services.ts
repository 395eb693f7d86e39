import { duration, type SettingReader, serviceUrl } from './readers';

const stages = ['request', 'candidates', 'settled'] as const;

/** A tap in another service, which receives records by POST. */
export interface HttpTapSetting {
  readonly name: string;
  readonly url: string;
  readonly timeoutMs: number;
}

/** A gate in another service, which is queried over HTTP. */
export interface HttpGateServiceSetting extends HttpTapSetting {
  readonly onError: 'open' | 'closed';
  readonly stages: readonly (typeof stages)[number][];
}

export const SERVICE_NAME = /^[a-z][a-z0-9-]{0,62}$/;
const address = serviceUrl('https:', 'http:');

/** Such as `siem=https://siem.internal/records#timeout=30s`. */
export const httpTaps: SettingReader<readonly HttpTapSetting[]> = {
  expects: 'NAME=URL with commas between them, each with #timeout=… where it is not 10s',
  read: (value) =>
    readServices(value, ['timeout'], (service, options) => {
      const timeoutMs = duration('100ms', '60s').read(options.get('timeout') ?? '10s');
      return timeoutMs === undefined ? undefined : { ...service, timeoutMs };
    }),
};

/** Such as `pii=https://guard.internal/gate#timeout=500ms&onError=open&stages=request+settled`. */
export const httpGates: SettingReader<readonly HttpGateServiceSetting[]> = {
  expects:
    'NAME=URL with commas between them, each with #timeout=…&onError=open|closed&stages=request+candidates+settled where it differs from the usual',
  read: (value) =>
    readServices(value, ['timeout', 'onError', 'stages'], (service, options) => {
      const timeoutMs = duration('1ms', '10s').read(options.get('timeout') ?? '1s');
      const onError = options.get('onError') ?? 'closed';
      const requestedStages = (options.get('stages') ?? 'request').split('+');
      const selectedStages = stages.filter((stage) => requestedStages.includes(stage));
      if (timeoutMs === undefined || selectedStages.length !== requestedStages.length) return undefined;
      if (onError !== 'open' && onError !== 'closed') return undefined;
      return { ...service, timeoutMs, onError, stages: selectedStages };
    }),
};

const MAX_SECRETS_PER_NAME = 3;

/** Secrets as bytes, by service name. A repeated name has several secrets, and all of them sign. */
export const webhookSecrets: SettingReader<ReadonlyMap<string, readonly Buffer[]>> = {
  expects:
    'NAME=whsec_… with commas between them, each of 24 to 64 bytes in base64, and at most three for one name',
  read(value) {
    const secrets = new Map<string, Buffer[]>();
    for (const entry of splitList(value)) {
      const [, name, base64 = ''] = /^([^=]+)=whsec_([A-Za-z0-9+/]+={0,2})$/.exec(entry) ?? [];
      const secret = Buffer.from(base64, 'base64');
      if (name === undefined || secret.length < 24 || secret.length > 64) return undefined;
      secrets.set(name, [...(secrets.get(name) ?? []), secret]);
    }
    return [...secrets.values()].every(({ length }) => length <= MAX_SECRETS_PER_NAME) ? secrets : undefined;
  },
};

type NamedService = Pick<HttpTapSetting, 'name' | 'url'>;

/** Reads services with unique names; undefined if one is invalid. */
function readServices<Setting extends NamedService>(
  value: string,
  knownOptions: readonly string[],
  settingOf: (service: NamedService, options: ReadonlyMap<string, string>) => Setting | undefined,
): readonly Setting[] | undefined {
  const settingsByName = new Map<string, Setting>();
  for (const entry of splitList(value)) {
    const [, name = '', url = '', fragment = ''] = /^([^=]*)=([^#]*)(?:#(.*))?$/.exec(entry) ?? [];
    const options = new Map(fragment.split('&').filter(Boolean).map(parsePair));
    if (!SERVICE_NAME.test(name) || settingsByName.has(name) || address.read(url) === undefined)
      return undefined;
    if ([...options.keys()].some((option) => !knownOptions.includes(option))) return undefined;
    const setting = settingOf({ name, url }, options);
    if (setting === undefined) return undefined;
    settingsByName.set(name, setting);
  }
  return [...settingsByName.values()];
}

export function parsePair(text: string): readonly [name: string, value: string] {
  const at = text.indexOf('=');
  return at === -1 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}

export const splitList = (value: string): string[] =>
  value
    .split(/[,\r\n]/)
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
