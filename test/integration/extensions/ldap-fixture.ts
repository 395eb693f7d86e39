import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Extension, Host, IdentityProvider, PersonProfile } from '#extension';
import type { ExtensionFolder } from '../../support/extension-folder';
import type { LdapStandIn, StoredEntry } from '../../support/ldap-stand-in';

export const BASE = 'ou=people,dc=acme,dc=example';
export const PASSWORD = 'correct horse';
export const SERVICE_ACCOUNT = { dn: 'cn=switchboard,dc=acme,dc=example', password: 'secret of the service' };
const GUID = Buffer.from('33221100554477668899aabbccddeeff', 'hex');

/** Settings of the extension, by the name after the environment prefix. */
export const settingsFor = ({ url }: LdapStandIn): Record<string, string> => ({
  url,
  base: BASE,
  bindDn: SERVICE_ACCOUNT.dn,
  bindPassword: SERVICE_ACCOUNT.password,
});

export const directoryEntry = (
  uid: string,
  number: number,
  more: StoredEntry['attributes'] = {},
): StoredEntry => ({
  dn: `uid=${uid},${BASE}`,
  password: PASSWORD,
  attributes: {
    uid: [uid],
    entryUUID: [`597ae2f6-16a6-1027-98f4-00000000000${number}`],
    objectGUID: [GUID],
    mail: [`${number}@acme.example`],
    cn: ['Roth'],
    displayName: ['Ina Röth'],
    userPassword: ['{SSHA}secret'],
    ...more,
  },
});

export const inaProfile: PersonProfile = {
  subject: '597ae2f6-16a6-1027-98f4-000000000001',
  email: '1@acme.example',
  emailVerified: true,
  displayName: 'Ina Röth',
};

/** Resets the stand-in to its state before each test. */
export function resetDirectory(directory: LdapStandIn): void {
  const service = { ...SERVICE_ACCOUNT, attributes: { uid: ['switchboard'] } };
  directory.entries.splice(
    0,
    Infinity,
    service,
    directoryEntry('ina', 1),
    directoryEntry('bert', 2, { mail: [] }),
  );
  for (const list of [directory.binds, directory.searches, directory.faults]) list.length = 0;
  directory.reader = SERVICE_ACCOUNT.dn;
  directory.lengthBytes = 0;
  directory.behaviour = (_, bytes) => ({ bytes });
  directory.cuts = () => [];
}

/** Sets up the extension without a service and returns its identity provider. */
export async function createProvider(
  { path }: ExtensionFolder,
  given: Record<string, string>,
): Promise<IdentityProvider> {
  const module = createRequire(join(path, 'package.json'))('./dist/index.js') as {
    default: Extension<unknown>;
  };
  const result = await module.default.settings!['~standard'].validate(given);
  if (result.issues !== undefined) throw new Error(JSON.stringify(result.issues));
  const contributions = await module.default.setup({ settings: result.value } as Host<unknown>);
  return contributions.identityProviders![0]!;
}
