import type { StandardSchema } from '@switchboard/extension';
import type { LdapTarget } from './session';

export interface DirectorySettings extends LdapTarget {
  readonly label: string;
  /** Entry below which users are searched, by the attribute that they type as their name. */
  readonly base: string;
  readonly nameAttribute: string;
  /** Attribute that never changes when a user gets another name or address. */
  readonly subjectAttribute: string;
  readonly bindDn: string;
  readonly bindPassword: string;
}

/** The host reads `EXT_LDAP_SIGN_IN_URL` and so on; for `EXT_LDAP_SIGN_IN_CA_FILE` it reads the file. */
export const settings: StandardSchema<DirectorySettings> = {
  '~standard': {
    version: 1,
    vendor: 'ldap-sign-in',
    validate(given) {
      const { url = '', base = '', ca, allowPlain, ...more } = given as Record<string, string | undefined>;
      const { bindDn = '', bindPassword = '', label = 'Company directory' } = more;
      const { nameAttribute = 'uid', subjectAttribute = 'entryUUID' } = more;
      const target = parseUrl(url);
      const isPlainAllowed = allowPlain === 'true' || /^(localhost|127\.[\d.]+|::1)$/.test(target.host);
      const checks = {
        url: [target.host !== '', 'expected ldaps://host or ldaps://host:port'],
        allowPlain: [target.isEncrypted || isPlainAllowed, 'ldap:// shows passwords to the network'],
        base: [base !== '', 'expected the name of an entry, such as ou=people,dc=acme,dc=example'],
        nameAttribute: [/^[a-z][a-z0-9-]*$/i.test(nameAttribute), 'expected the name of an attribute'],
        subjectAttribute: [/^(entryUUID|objectGUID)$/.test(subjectAttribute), 'entryUUID | objectGUID'],
        bindPassword: [(bindDn === '') === (bindPassword === ''), 'bindDn and bindPassword go together'],
        ca: [ca?.includes('-----BEGIN CERTIFICATE-----') ?? true, 'expected certificates in PEM'],
      } as const;
      const failures = Object.entries(checks).filter(([, [isRight]]) => !isRight);
      const issues = failures.map(([name, [, message]]) => ({ path: [name], message }));
      if (issues.length > 0) return { issues };
      return { value: { ...target, ca, label, base, nameAttribute, subjectAttribute, bindDn, bindPassword } };
    },
  },
};

function parseUrl(text: string): LdapTarget {
  const isRight = /^ldaps?:\/\/[^/?#@]+\/?$/i.test(text) && URL.canParse(text);
  const { protocol, hostname, port } = new URL(isRight ? text : 'ldaps:');
  const isEncrypted = protocol === 'ldaps:';
  const host = hostname.replace(/^\[|\]$/g, '');
  return { host, port: Number(port) || (isEncrypted ? 636 : 389), isEncrypted };
}
