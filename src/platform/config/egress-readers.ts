import { createPrivateKey, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import type { SettingReader } from './readers';

export interface ProxySetting {
  readonly name: string;
  readonly url: string;
}

const NAME = /^[a-z][a-z0-9-]{0,62}$/;
/** Value with which a supplier bypasses all proxies. */
export const DIRECT = 'direct';

export const proxyAddress: SettingReader<string> = {
  expects:
    'an address such as http://proxy.internal:3128 or https://user:password@proxy.internal, without a path',
  read: (value) => (isProxy(value) ? value : undefined),
};

/** Such as `eu=http://proxy-eu.internal:3128`; a file can have one entry per line. */
export const proxies: SettingReader<readonly ProxySetting[]> = {
  expects: `NAME=URL with commas between them, each under a name of its own other than ${DIRECT}`,
  read(value) {
    const entries = value
      .split(/[,\r\n]/)
      .map((entry) => entry.trim())
      .filter((entry) => entry !== '')
      .map((entry) => {
        const [, name = '', url = ''] = /^([^=]*)=(.*)$/.exec(entry) ?? [];
        return { name, url };
      });
    const isValid = entries.every(({ name, url }) => NAME.test(name) && name !== DIRECT && isProxy(url));
    return isValid && new Set(entries.map(({ name }) => name)).size === entries.length ? entries : undefined;
  },
};

function isProxy(value: string): boolean {
  const url = URL.parse(value);
  if (url === null || !/^https?:$/.test(url.protocol) || url.hostname === '') return false;
  return url.pathname === '/' && url.search + url.hash === '' && !/[\s\0]/.test(value) && isDecodable(url);
}

function isDecodable({ username, password }: URL): boolean {
  try {
    // A colon in the name would end the name in the header that carries it.
    return !decodeURIComponent(username).includes(':') && decodeURIComponent(password).length >= 0;
  } catch {
    return false;
  }
}

export const certificates: SettingReader<string> = {
  expects: 'certificates in PEM',
  read: (value) => (certificatesIn(value).length > 0 ? value : undefined),
};

export const privateKey: SettingReader<string> = {
  expects: 'a private key in PEM, without a passphrase',
  read(value) {
    try {
      return createPrivateKey(value).type === 'private' ? value : undefined;
    } catch {
      return undefined;
    }
  },
};

/**
 * True if the key belongs to the first certificate. A pair that TLS rejects, such as one that is too short, does not
 * count.
 */
export function isKeyOf(certificate: string, key: string): boolean {
  try {
    const isPair = certificatesIn(certificate)[0]?.checkPrivateKey(createPrivateKey(key)) ?? false;
    return isPair && createSecureContext({ cert: certificate, key }) !== null;
  } catch {
    return false;
  }
}

/** Earliest expiry of the certificates; null if none can be read. */
export function earliestExpiry(pem: string): Date | null {
  const expiries = certificatesIn(pem).map(({ validToDate }) => validToDate.getTime());
  return expiries.length === 0 ? null : new Date(Math.min(...expiries));
}

const BLOCK = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** Returns all certificates, or none if one cannot be read. */
export function certificatesIn(pem: string): X509Certificate[] {
  try {
    return (pem.match(BLOCK) ?? []).map((block) => new X509Certificate(block));
  } catch {
    return [];
  }
}
