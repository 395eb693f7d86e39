import { CLIENT_CERTIFICATE, CREDENTIAL_KINDS, type CredentialKind } from '../../credential.entity';
import type { DesiredCredential } from './desired';
import type { Entry } from './entry';

const DEFAULT_LABEL = 'gateway.yaml';

export function readCredentials(keyKind: CredentialKind, apiKey: Entry, list: Entry): DesiredCredential[] {
  const credentials = list.named().flatMap(([label, entry]) => readParts(label, entry) ?? []);
  const parts = apiKey.secret();
  if (parts === undefined) return credentials;
  if (keyKind === 'sigv4' || keyKind === 'oauth-pool') {
    apiKey.fault(`this style needs more than a key: describe it below "credentials", as ${keyKind}`);
    return credentials;
  }
  return [{ at: apiKey, label: DEFAULT_LABEL, secret: { kind: keyKind, parts } }, ...credentials];
}

function readParts(label: string, entry: Entry): DesiredCredential | undefined {
  const fields = entry.fields(
    'kind',
    'secret',
    ...Object.values(CREDENTIAL_FIELDS).flatMap((parts) => Object.keys(parts)),
  );
  const kind = fields['kind']?.isAbsent
    ? fields['kind'].fault('is missing')
    : fields['kind']?.oneOf([...CREDENTIAL_KINDS, CLIENT_CERTIFICATE]);
  if (kind === undefined) return undefined;
  if (kind === 'bearer' || kind === 'header') {
    const parts = fields['secret']?.isAbsent
      ? fields['secret'].fault('is missing')
      : fields['secret']?.secret();
    return parts === undefined ? undefined : { at: entry, label, secret: { kind, parts } };
  }
  const parts: Record<string, string> = {};
  for (const [field, { name, needed }] of Object.entries(CREDENTIAL_FIELDS[kind])) {
    const part = fields[field];
    if (part === undefined) continue;
    if (part.isAbsent && needed) part.fault('is missing');
    const value = part.secret();
    if (value !== undefined) parts[name] = value;
  }
  return { at: entry, label, secret: { kind, parts } };
}

interface CredentialField {
  readonly name: string;
  readonly needed?: true;
}

const CREDENTIAL_FIELDS: Readonly<
  Record<'sigv4' | 'oauth-pool' | typeof CLIENT_CERTIFICATE, Readonly<Record<string, CredentialField>>>
> = {
  sigv4: {
    access_key_id: { name: 'accessKeyId', needed: true },
    secret_access_key: { name: 'secretAccessKey', needed: true },
    session_token: { name: 'sessionToken' },
  },
  'oauth-pool': {
    access_token: { name: 'accessToken', needed: true },
    refresh_token: { name: 'refreshToken' },
    client_secret: { name: 'clientSecret' },
    account: { name: 'account' },
  },
  [CLIENT_CERTIFICATE]: {
    certificate: { name: 'certificate', needed: true },
    key: { name: 'key', needed: true },
  },
};
