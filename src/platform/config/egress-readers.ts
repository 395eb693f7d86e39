import { createPrivateKey, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import type { Reader } from './readers';

/** A proxy under the name that suppliers call it by. */
export interface ProxySetting {
  readonly name: string;
  readonly url: string;
}

const NAME = /^[a-z][a-z0-9-]{0,62}$/;
/** Suppliers say with it that they are reached without a proxy. */
export const DIRECT = 'direct';

export const proxyAddress: Reader<string> = {
  expects:
    'an address such as http://proxy.internal:3128 or https://user:password@proxy.internal, without a path',
  read: (value) => (isProxy(value) ? value : undefined),
};

/** Such as `eu=http://proxy-eu.internal:3128`. A file may have one a line. */
export const proxies: Reader<readonly ProxySetting[]> = {
  expects: `NAME=URL with commas between them, each under a name of its own other than ${DIRECT}`,
  read(value) {
    const found = value
      .split(/[,\r\n]/)
      .map((entry) => entry.trim())
      .filter((entry) => entry !== '')
      .map((entry) => {
        const [, name = '', url = ''] = /^([^=]*)=(.*)$/.exec(entry) ?? [];
        return { name, url };
      });
    const isRight = found.every(({ name, url }) => NAME.test(name) && name !== DIRECT && isProxy(url));
    return isRight && new Set(found.map(({ name }) => name)).size === found.length ? found : undefined;
  },
};

function isProxy(value: string): boolean {
  const url = URL.parse(value);
  if (url === null || !/^https?:$/.test(url.protocol) || url.hostname === '') return false;
  return url.pathname === '/' && url.search + url.hash === '' && !/[\s\0]/.test(value) && isDecodable(url);
}

function isDecodable({ username, password }: URL): boolean {
  try {
    // A colon in the name would end it where it is sent.
    return !decodeURIComponent(username).includes(':') && decodeURIComponent(password).length >= 0;
  } catch {
    return false;
  }
}

export const certificates: Reader<string> = {
  expects: 'certificates in PEM',
  read: (value) => (certificatesIn(value).length > 0 ? value : undefined),
};

export const privateKey: Reader<string> = {
  expects: 'a private key in PEM, without a passphrase',
  read(value) {
    try {
      return createPrivateKey(value).type === 'private' ? value : undefined;
    } catch {
      return undefined;
    }
  },
};

/** The first certificate is the one that the key is for. A pair that TLS does not take, as it is too short, is none. */
export function isKeyOf(certificate: string, key: string): boolean {
  try {
    const isPair = certificatesIn(certificate)[0]?.checkPrivateKey(createPrivateKey(key)) ?? false;
    return isPair && createSecureContext({ cert: certificate, key }) !== null;
  } catch {
    return false;
  }
}

/** The first of the certificates ends then; null where none can be read. */
export function firstEndIn(pem: string): Date | null {
  const ends = certificatesIn(pem).map(({ validToDate }) => validToDate.getTime());
  return ends.length === 0 ? null : new Date(Math.min(...ends));
}

const BLOCK = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** All of them, or none where one cannot be read. */
export function certificatesIn(pem: string): X509Certificate[] {
  try {
    return (pem.match(BLOCK) ?? []).map((block) => new X509Certificate(block));
  } catch {
    return [];
  }
}
