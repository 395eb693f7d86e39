import type {
  BearerCredential,
  HeaderCredential,
  SigningCredential,
  TokenCredential as OwnToken,
} from '#extension';
import { err, fault, type Fault, ok, parseJsonText, type Result } from '../kernel';
import {
  certificatesIn,
  type ClientIdentity,
  isKeyOf,
  type SealedColumn,
  type SecretLocation,
} from '../platform';
import {
  CLIENT_CERTIFICATE,
  CREDENTIAL_TABLE,
  type CredentialKind,
  type StoredKind,
} from './credential.entity';

/** Token of a pool with the fields that only its renewal needs. */
export interface TokenCredential extends OwnToken {
  readonly refreshToken?: string;
  readonly clientSecret?: string;
  /** Milliseconds since the epoch; absent if the supplier sets no expiry. */
  readonly expiresAt?: number;
}
export type Credential = BearerCredential | HeaderCredential | SigningCredential | TokenCredential;
export type { BearerCredential };

export type CredentialSecret = string | Readonly<Record<string, unknown>>;

const MAX_SECRET_LENGTH = 8_192;
const MAX_CERTIFICATE_LENGTH = 64 * 1024;
/** Secrets travel in headers, so line breaks and control characters are refused. */
const plain = /^[\x21-\x7e]+$/;

const fieldsOf = {
  sigv4: { needed: ['accessKeyId', 'secretAccessKey'], optional: ['sessionToken'] },
  'oauth-pool': { needed: ['accessToken'], optional: ['refreshToken', 'clientSecret', 'account'] },
} as const;

/** Returns the secret in its stored form, or an error whose text never repeats any of it. */
export function secretText(kind: StoredKind, secret: CredentialSecret): Result<string, Fault> {
  if (kind === CLIENT_CERTIFICATE) return identityText(secret);
  if (kind === 'bearer' || kind === 'header') {
    return typeof secret === 'string' && isPlain(secret)
      ? ok(secret)
      : err(invalidSecret('secret', 'one line without blanks'));
  }
  if (typeof secret === 'string')
    return err(invalidSecret('secret', `fields: ${fieldsOf[kind].needed.join(', ')}`));
  const { needed, optional } = fieldsOf[kind];
  const stored: Record<string, unknown> = {};
  for (const name of [...needed, ...optional]) {
    const value = secret[name];
    if (value === undefined || value === null) {
      if (needed.some((one) => one === name)) return err(invalidSecret(`secret.${name}`, 'a value'));
      continue;
    }
    if (typeof value !== 'string' || !isPlain(value))
      return err(invalidSecret(`secret.${name}`, 'one line without blanks'));
    stored[name] = value;
  }
  const { expiresAt } = secret;
  if (kind === 'oauth-pool' && expiresAt !== undefined && expiresAt !== null) {
    if (!Number.isSafeInteger(expiresAt))
      return err(invalidSecret('secret.expiresAt', 'milliseconds since 1970'));
    stored.expiresAt = expiresAt;
  }
  return ok(JSON.stringify(stored));
}

function identityText(secret: CredentialSecret): Result<string, Fault> {
  const { certificate, key } = typeof secret === 'string' ? {} : secret;
  if (typeof certificate !== 'string' || certificate.length > MAX_CERTIFICATE_LENGTH)
    return err(invalidSecret('secret.certificate', 'certificates in PEM'));
  if (typeof key !== 'string' || key.length > MAX_CERTIFICATE_LENGTH || !isKeyOf(certificate, key))
    return err(
      invalidSecret('secret.key', 'the private key of the certificate, in PEM and without a passphrase'),
    );
  return ok(JSON.stringify({ certificate, key }));
}

export const identityOf = (text: string): ClientIdentity => parseJsonText(text) as ClientIdentity;

/** Last four hex digits of the certificate's fingerprint, as tools print it. */
export function identityHint(certificate: string): string {
  return (certificatesIn(certificate)[0]?.fingerprint256 ?? '').replaceAll(':', '').slice(-4);
}

export function credentialOf(kind: CredentialKind, id: string, text: string): Credential {
  switch (kind) {
    case 'bearer':
      return { kind, id, token: text };
    case 'header':
      return { kind, id, value: text };
    case 'sigv4':
      return { ...(parseJsonText(text) as Omit<SigningCredential, 'kind' | 'id'>), kind, id };
    case 'oauth-pool':
      return { ...(parseJsonText(text) as Omit<TokenCredential, 'kind' | 'id'>), kind, id };
  }
}

export function oneTimeCredential(kind: CredentialKind, secret: CredentialSecret): Credential {
  const text = secretText(kind, secret);
  if (!text.ok) throw text.error;
  return credentialOf(kind, 'typed', text.value);
}

/** Last four characters of the secret; empty if they would reveal a large part of it. */
export function hintOf(credential: Credential): string {
  const text = visibleTextOf(credential);
  return text.length >= 12 ? text.slice(-4) : '';
}

function visibleTextOf(credential: Credential): string {
  switch (credential.kind) {
    case 'bearer':
      return credential.token;
    case 'header':
      return credential.value;
    case 'sigv4':
      return credential.accessKeyId;
    case 'oauth-pool':
      return credential.account ?? credential.accessToken;
  }
}

export interface SecretAddress {
  readonly baseUrl: string;
  readonly settings: Readonly<Record<string, unknown>>;
}

/** Every origin that receives secrets of this provider; after a change, the secrets have to be entered again. */
export function originsOf({ baseUrl, settings }: SecretAddress): string {
  return [baseUrl, tokenUrlOf(settings)]
    .filter((url) => url !== undefined)
    .map((url) => URL.parse(url)?.origin ?? url)
    .join(' ');
}

export function tokenUrlOf(settings: SecretAddress['settings']): string | undefined {
  const { oauth } = settings;
  if (typeof oauth !== 'object' || oauth === null) return undefined;
  const url: unknown = Reflect.get(oauth, 'token_url');
  return typeof url === 'string' ? url : undefined;
}

export const secretPlaceOf = (row: { readonly id: string; readonly host: string }): SecretLocation => ({
  table: CREDENTIAL_TABLE,
  row: row.id,
  field: 'secret',
  host: row.host,
});

export const sealedCredentials: readonly SealedColumn[] = [
  {
    table: CREDENTIAL_TABLE,
    column: 'wrapped_key',
    keyIdColumn: 'key_id',
    where: 't.disabled_at IS NULL',
    place: { table: CREDENTIAL_TABLE, field: 'secret', row: 't.id::text', host: 't.host' },
  },
];

const isPlain = (text: string): boolean => text.length <= MAX_SECRET_LENGTH && plain.test(text);

const invalidSecret = (param: string, expected: string): Fault =>
  fault('validation_error', { param, message: `Expected ${expected}.` });
