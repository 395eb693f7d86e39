import { isRole, type UserRole } from '../../kernel';
import { nameServers, oneOf, publicOrigin, type SettingReader, text } from './readers';
import { Setting } from './setting.decorator';
import { StorageSettings } from './storage-settings';

type MappedRole = Exclude<UserRole, 'platform_owner'>;

export type RoleMap = readonly (readonly [group: string, role: MappedRole])[];

const roleMap: SettingReader<RoleMap> = {
  expects:
    'a comma list of group=role, such as staff=user,gateway-admins=platform_admin; never platform_owner',
  read(value) {
    const pairs = value.split(',').map((part) => part.trim().split('='));
    const mapped = pairs.flatMap(([group = '', role = '', ...rest]): (readonly [string, MappedRole])[] =>
      group !== '' && rest.length === 0 && isRole(role) && role !== 'platform_owner' ? [[group, role]] : [],
    );
    return mapped.length === pairs.length ? mapped : undefined;
  },
};

const directoryRoles: SettingReader<Readonly<Record<string, RoleMap>>> = {
  expects:
    'a comma list of extension/directory:group=role, such as ldap/staff:admins=platform_admin; never platform_owner',
  read(value) {
    const rolesByDirectory = new Map<string, RoleMap>();
    for (const part of value.split(',')) {
      const [, directory = '', pair = ''] =
        /^([a-z][a-z0-9-]*\/[a-z][a-z0-9-]*):(.+)$/.exec(part.trim()) ?? [];
      const mapped = roleMap.read(pair);
      if (mapped === undefined) return undefined;
      rolesByDirectory.set(directory, [...(rolesByDirectory.get(directory) ?? []), ...mapped]);
    }
    return Object.fromEntries(rolesByDirectory);
  },
};

const issuer = text('an address such as https://accounts.example.com', (value) =>
  /^https?:\/\/[^\s?#]+$/.test(value),
);

const origins: SettingReader<readonly string[]> = {
  expects: 'a comma list of addresses such as https://models.reseller.example',
  read(value) {
    const parts = value.split(',').map((part) => publicOrigin.read(part.trim()));
    return value === '' ? [] : parts.every((part) => part !== undefined) ? parts : undefined;
  },
};

const group = 'Sign-in';
const none = 'no such provider';

export abstract class SignInSettings extends StorageSettings {
  @Setting({
    name: 'SECOND_FACTOR_FOR',
    group,
    describe: "Who has no administrator's rights without a second factor.",
    as: oneOf('nobody', 'administrators'),
    default: 'nobody',
  })
  readonly secondFactorFor: 'nobody' | 'administrators';

  @Setting({
    name: 'IDP1_NAME',
    group,
    describe: 'What people know the first identity provider by.',
    as: text(),
    unset: 'its host',
  })
  readonly idp1Name?: string;

  @Setting({
    name: 'IDP1_KIND',
    group,
    describe: 'What it speaks: OpenID Connect, or OAuth 2 as GitHub does.',
    as: oneOf('openid', 'github'),
    default: 'openid',
  })
  readonly idp1Kind: 'openid' | 'github';

  @Setting({
    name: 'IDP1_ISSUER',
    group,
    describe: 'Its issuer; its other addresses are found from there. Of a GitHub Enterprise: its address.',
    as: issuer,
    unset: 'no such provider; with the kind github, https://github.com',
  })
  readonly idp1Issuer?: string;

  @Setting({
    name: 'IDP1_API_URL',
    group,
    describe: 'The interface of a GitHub, where it is not found below its address.',
    as: issuer,
    unset: 'https://api.github.com, or /api/v3 below the address of an Enterprise',
  })
  readonly idp1ApiUrl?: string;

  @Setting({
    name: 'IDP1_CLIENT_ID',
    group,
    describe: 'What it knows this service by.',
    as: text(),
    unset: none,
  })
  readonly idp1ClientId?: string;

  @Setting({
    name: 'IDP1_CLIENT_SECRET',
    group,
    describe: 'The secret that goes with it.',
    as: text(),
    unset: none,
    secret: true,
  })
  readonly idp1ClientSecret?: string;

  @Setting({
    name: 'IDP1_ROLE_CLAIM',
    group,
    describe: 'The claim that lists groups; a dot goes into an object.',
    as: text(),
    default: 'groups',
  })
  readonly idp1RoleClaim: string;

  @Setting({
    name: 'IDP1_ROLES',
    group,
    describe: 'Which groups mean which role, at every sign-in.',
    as: roleMap,
    unset: 'roles are given here only',
  })
  readonly idp1Roles?: RoleMap;

  @Setting({
    name: 'IDP2_NAME',
    group,
    describe: 'The same of the second identity provider.',
    as: text(),
    unset: 'its host',
  })
  readonly idp2Name?: string;

  @Setting({
    name: 'IDP2_KIND',
    group,
    describe: 'What it speaks: OpenID Connect, or OAuth 2 as GitHub does.',
    as: oneOf('openid', 'github'),
    default: 'openid',
  })
  readonly idp2Kind: 'openid' | 'github';

  @Setting({
    name: 'IDP2_ISSUER',
    group,
    describe: 'Its issuer; its other addresses are found from there. Of a GitHub Enterprise: its address.',
    as: issuer,
    unset: 'no such provider; with the kind github, https://github.com',
  })
  readonly idp2Issuer?: string;

  @Setting({
    name: 'IDP2_API_URL',
    group,
    describe: 'The interface of a GitHub, where it is not found below its address.',
    as: issuer,
    unset: 'https://api.github.com, or /api/v3 below the address of an Enterprise',
  })
  readonly idp2ApiUrl?: string;

  @Setting({
    name: 'IDP2_CLIENT_ID',
    group,
    describe: 'What it knows this service by.',
    as: text(),
    unset: none,
  })
  readonly idp2ClientId?: string;

  @Setting({
    name: 'IDP2_CLIENT_SECRET',
    group,
    describe: 'The secret that goes with it.',
    as: text(),
    unset: none,
    secret: true,
  })
  readonly idp2ClientSecret?: string;

  @Setting({
    name: 'IDP2_ROLE_CLAIM',
    group,
    describe: 'The claim that lists groups; a dot goes into an object.',
    as: text(),
    default: 'groups',
  })
  readonly idp2RoleClaim: string;

  @Setting({
    name: 'IDP2_ROLES',
    group,
    describe: 'Which groups mean which role, at every sign-in.',
    as: roleMap,
    unset: 'roles are given here only',
  })
  readonly idp2Roles?: RoleMap;

  @Setting({
    name: 'EXTENSION_ROLES',
    group,
    describe: 'Which groups of directories that extensions bring mean which role, at every sign-in.',
    as: directoryRoles,
    unset: 'roles are given here only',
  })
  readonly extensionRoles?: Readonly<Record<string, RoleMap>>;

  @Setting({
    name: 'PORTAL_ORIGINS',
    group,
    describe:
      "Further addresses of the operator's own under which the portal is shown; sign-in with a provider passes through BASE_URL.",
    as: origins,
    default: '',
  })
  readonly portalOrigins: readonly string[];

  @Setting({
    name: 'DNS_SERVERS',
    group,
    describe: "Name servers that are asked for the records which prove resellers' hosts.",
    as: nameServers,
    default: '',
    unset: "the system's",
  })
  readonly dnsServers: readonly string[];
}
