import { duration, type Reader, serviceUrl } from './readers';

const stages = ['request', 'candidates', 'settled'] as const;

/** A gate that another service is: it is asked over HTTP. */
export interface HttpGateSetting {
  readonly name: string;
  readonly url: string;
  readonly timeoutMs: number;
  readonly onError: 'open' | 'closed';
  readonly stages: readonly (typeof stages)[number][];
}

const NAME = /^[a-z][a-z0-9-]{0,62}$/;
const address = serviceUrl('https:', 'http:');
const patience = duration('1ms', '10s');

/** Such as `pii=https://guard.internal/gate#timeout=500ms&onError=open&stages=request+settled`. */
export const httpGates: Reader<readonly HttpGateSetting[]> = {
  expects:
    'NAME=URL with commas between them, each with #timeout=…&onError=open|closed&stages=request+candidates+settled where it differs from the usual',
  read(value) {
    const gates = listed(value).map(gateIn);
    const names = new Set(gates.map((gate) => gate?.name));
    return gates.every((gate) => gate !== undefined) && names.size === gates.length ? gates : undefined;
  },
};

function gateIn(entry: string): HttpGateSetting | undefined {
  const [, name = '', url = '', fragment = ''] = /^([^=]*)=([^#]*)(?:#(.*))?$/.exec(entry) ?? [];
  const given = new Map(fragment.split('&').filter(Boolean).map(pairIn));
  const timeoutMs = patience.read(given.get('timeout') ?? '1s');
  const onError = given.get('onError') ?? 'closed';
  const at = (given.get('stages') ?? 'request').split('+');
  const isKnown = [...given.keys()].every((option) => ['timeout', 'onError', 'stages'].includes(option));
  if (!NAME.test(name) || address.read(url) === undefined || timeoutMs === undefined || !isKnown)
    return undefined;
  if (onError !== 'open' && onError !== 'closed') return undefined;
  const found = stages.filter((stage) => at.includes(stage));
  return found.length === at.length ? { name, url, timeoutMs, onError, stages: found } : undefined;
}

/** By the names of gates, as bytes. A file may have one a line. */
export const webhookSecrets: Reader<ReadonlyMap<string, Buffer>> = {
  expects: 'NAME=whsec_… with commas between them, each of 24 to 64 bytes in base64',
  read(value) {
    const secrets = listed(value).map(pairIn);
    const decoded = new Map(secrets.map(([name, secret]) => [name, bytesOf(secret)]));
    const isRight = [...decoded.values()].every(({ length }) => length >= 24 && length <= 64);
    return isRight && decoded.size === secrets.length ? decoded : undefined;
  },
};

function bytesOf(secret: string): Buffer {
  const [, base64 = ''] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret) ?? [];
  return Buffer.from(base64, 'base64');
}

function pairIn(text: string): readonly [name: string, value: string] {
  const at = text.indexOf('=');
  return at === -1 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}

const listed = (value: string): string[] =>
  value
    .split(/[,\r\n]/)
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
