import { existsSync } from 'node:fs';
import { isIP } from 'node:net';
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../kernel';

/** Parses the text of one variable; undefined if it is not what is expected. */
export interface SettingReader<T> {
  readonly expects: string;
  read(text: string): T | undefined;
}

export function text(
  expects = 'a text',
  fits: (value: string) => boolean = () => true,
): SettingReader<string> {
  return { expects, read: (value) => (/[\r\n\0]/.test(value) || !fits(value) ? undefined : value) };
}

export function oneOf<const Choice extends string>(...choices: Choice[]): SettingReader<Choice> {
  return { expects: choices.join(' | '), read: (value) => choices.find((choice) => choice === value) };
}

const switches = new Map<string, boolean>([
  ['true', true],
  ['1', true],
  ['yes', true],
  ['false', false],
  ['0', false],
  ['no', false],
]);

export const toggle: SettingReader<boolean> = {
  expects: 'true | false',
  read: (value) => switches.get(value.toLowerCase()),
};

export function wholeNumber(min: number, max: number): SettingReader<number> {
  return {
    expects: `a whole number from ${min} to ${max}`,
    read: (value) => (/^\d{1,15}$/.test(value) ? within(Number(value), min, max) : undefined),
  };
}

const MAX_PROCESSES = 64;

/** `auto` is the number of processors available to this process, also in a container. */
export const processCount: SettingReader<number> = {
  expects: `auto, or a whole number from 1 to ${MAX_PROCESSES}`,
  read: (value) =>
    value === 'auto'
      ? Math.min(availableParallelism(), MAX_PROCESSES)
      : wholeNumber(1, MAX_PROCESSES).read(value),
};

const milliseconds: Record<string, number> = { ms: 1, s: SECOND_MS, m: MINUTE_MS, h: HOUR_MS };

/** The unit is required: without one, some readers expect seconds and others milliseconds. */
export function duration(min: string, max: string): SettingReader<number> {
  const bounds = [min, max].map((bound) => parseQuantity(bound, milliseconds) ?? 0) as [number, number];
  return {
    expects: `a duration from ${min} to ${max}, such as 500ms, 60s or 5m`,
    read: (value) => within(parseQuantity(value, milliseconds), ...bounds),
  };
}

const bytes: Record<string, number> = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 };

export function byteSize(min: string, max: string): SettingReader<number> {
  const bounds = [min, max].map((bound) => parseQuantity(bound, bytes) ?? 0) as [number, number];
  return {
    expects: `a size from ${min} to ${max}, such as 512KiB or 32MiB`,
    read: (value) => within(parseQuantity(value, bytes), ...bounds),
  };
}

/** URL of a service such as a database; credentials and a path are allowed. */
export function serviceUrl(...protocols: string[]): SettingReader<string> {
  return {
    expects: `an address starting with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`,
    read(value) {
      const url = parseUrl(value);
      return url && protocols.includes(url.protocol) && url.hostname !== '' ? value : undefined;
    },
  };
}

export const publicOrigin: SettingReader<string> = {
  expects: 'an address such as https://models.example.com, without a path',
  read(value) {
    const url = parseUrl(value);
    const plain = url && ['http:', 'https:'].includes(url.protocol) && !url.username && !url.password;
    return plain && url.pathname === '/' && !url.search && !url.hash ? url.origin : undefined;
  },
};

export const origins: SettingReader<readonly string[]> = {
  expects: '* or a comma list of origins such as https://app.example.com',
  read(value) {
    if (value === '*') return [value];
    const parts = list(value).map((part) => publicOrigin.read(part));
    return parts.every((part) => part !== undefined) ? parts : undefined;
  },
};

export const file: SettingReader<string> = {
  expects: 'the path of a file that is there',
  read: (value) => (existsSync(value) ? resolve(value) : undefined),
};

export const folder: SettingReader<string> = { expects: 'a folder', read: (value) => resolve(value) };

export const path: SettingReader<string> = { expects: 'the path of a file', read: (value) => resolve(value) };

const mailAddress = /^[^\s@<>"(),;:\\]+@[^\s@<>"(),;:\\]+$/;

export const email = text('a mail address', (value) => mailAddress.test(value));

export const sender = text(
  'a mail address, or a name and an address such as Switchboard <no-reply@example.com>',
  (value) => mailAddress.test(/^[^<>]*<([^<>]*)>$/.exec(value)?.[1] ?? value),
);

const proxyWords = ['loopback', 'linklocal', 'uniquelocal'];

/** `true` is rejected: any caller could then forge a forwarding header. */
export const trustedProxies: SettingReader<string | number | false> = {
  expects:
    'false, a number of hops from 1 to 10, or a comma list of addresses, networks, loopback, uniquelocal',
  read(value) {
    if (switches.get(value.toLowerCase()) === false) return false;
    if (/^\d+$/.test(value)) return within(Number(value), 1, 10);
    const parts = list(value);
    const fits = (part: string): boolean => proxyWords.includes(part) || network(part) !== undefined;
    return parts.length > 0 && parts.every(fits) ? parts.join(',') : undefined;
  },
};

interface Network {
  readonly address: string;
  readonly prefix: number;
  readonly family: 'ipv4' | 'ipv6';
}

/** Addresses that an operator vouches for: everywhere, or only under one host name (and port). */
export interface AllowedNetwork extends Network {
  readonly host?: string;
  readonly port?: number;
}

/** Addresses, not names, since resolving a name needs a name server. */
export const nameServers: SettingReader<readonly string[]> = {
  expects:
    'a comma list of IP addresses, with a port where it is not 53, such as 10.0.0.2,[2001:db8::1]:5353',
  read(value) {
    const parts = list(value);
    return parts.every(isNameServer) ? parts : undefined;
  },
};

function isNameServer(part: string): boolean {
  const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/.exec(part) ?? [];
  const isPort = port === undefined || within(Number(port), 1, 65_535) !== undefined;
  return isIP(part) !== 0 || (isPort && (isIP(bracketed ?? '') === 6 || isIP(plain ?? '') === 4));
}

export const allowedNetworks: SettingReader<readonly AllowedNetwork[]> = {
  expects: 'a comma list of networks or host[:port]=network, such as 10.0.0.0/8,models.lan:8000=192.168.1.20',
  read(value) {
    const parts = list(value).map(allowedNetwork);
    return parts.every((part) => part !== undefined) ? parts : undefined;
  },
};

function allowedNetwork(part: string): AllowedNetwork | undefined {
  const [left, right, ...rest] = part.split('=');
  const range = network(right ?? left ?? '');
  if (!range || rest.length > 0) return undefined;
  if (right === undefined) return range;
  const url = parseUrl(`http://${left ?? ''}`);
  if (!url?.hostname || url.pathname !== '/' || url.username || url.search || url.hash) return undefined;
  const port = /:(\d+)$/.exec(left ?? '')?.[1];
  return { ...range, host: url.hostname, ...(port ? { port: Number(port) } : {}) };
}

function network(value: string): Network | undefined {
  const [address = '', length, ...rest] = value.split('/');
  const version = isIP(address);
  if (version === 0 || rest.length > 0 || (length !== undefined && !/^\d{1,3}$/.test(length)))
    return undefined;
  const maxPrefix = version === 4 ? 32 : 128;
  const prefix = Number(length ?? maxPrefix);
  return prefix <= maxPrefix ? { address, prefix, family: version === 4 ? 'ipv4' : 'ipv6' } : undefined;
}

export function list(value: string): string[] {
  return value
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

export const commaList: SettingReader<readonly string[]> = { expects: 'a comma list', read: list };

function parseQuantity(value: string, units: Record<string, number>): number | undefined {
  const match = /^(\d{1,9})([A-Za-z]+)$/.exec(value);
  const unit = units[match?.[2] ?? ''];
  return match && unit !== undefined ? Number(match[1]) * unit : undefined;
}

function within(value: number | undefined, min: number, max: number): number | undefined {
  return value !== undefined && value >= min && value <= max ? value : undefined;
}

function parseUrl(value: string): URL | undefined {
  return URL.canParse(value) ? new URL(value) : undefined;
}
