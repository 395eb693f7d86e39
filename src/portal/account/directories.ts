import { Injectable } from '@nestjs/common';
import type { IdentityProvider } from '#extension';
import { Extensions, type ExtensionPart } from '../../extensions';
import { AttemptThrottle, type ProvenIdentity } from '../../identity';
import { fault, thrownMessage, withDeadline } from '../../kernel';
import { Logger, Settings, SettingsError } from '../../platform';
import { validateClaims, roleOf } from './providers/claims';

export interface DirectoryCredentials {
  readonly name: string;
  readonly password: string;
  readonly address: string;
}

const DEADLINE_MS = 10_000;
const MAX_GROUPS = 10_000;
const issuerOf = (id: string): string => `extension:${id}`;

/** Directories added by extensions: users sign in with their credentials there. */
@Injectable()
export class Directories {
  constructor(
    private readonly extensions: Extensions,
    private readonly throttle: AttemptThrottle,
    private readonly logger: Logger,
    private readonly settings: Settings,
  ) {}

  signInLinks(next = ''): { name: string; href: string }[] {
    return this.extensions.identityProviders.map(({ name: id, part: { label } }) => {
      const query = new URLSearchParams({ with: id, ...(next !== '' && { next }) });
      return { name: label, href: `/login?${query.toString()}` };
    });
  }

  listLinkable(): { id: string; name: string }[] {
    return this.extensions.identityProviders.map(({ name: id, part: { label } }) => ({ id, name: label }));
  }

  find(id: string): ExtensionPart<IdentityProvider> | undefined {
    return this.extensions.identityProviders.find(({ name }) => name === id);
  }

  /** Name of the directory with this issuer; undefined if none of the present directories has it. */
  nameOf(issuer: string): string | undefined {
    return this.extensions.identityProviders.find(({ name }) => issuerOf(name) === issuer)?.part.label;
  }

  /** Verifies credentials with a directory. Attempts are throttled like those with passwords. */
  async authenticate(id: string, credentials: DirectoryCredentials): Promise<ProvenIdentity> {
    const directory = this.find(id);
    if (directory === undefined) throw fault('not_found', { message: 'No such directory is set up.' });
    const name = credentials.name.trim();
    // Some directories treat an empty password as an anonymous bind, which succeeds.
    if (name === '' || credentials.password === '') throw fault('invalid_credentials', { param: 'password' });
    const throttledAccount = `${directory.name}:${normaliseForThrottle(name)}`;
    const attempt = { purpose: 'sign-in', account: throttledAccount, address: credentials.address } as const;
    await this.throttle.take(attempt);
    const identity = await this.query(directory, { name, password: credentials.password });
    if (identity === null) throw fault('invalid_credentials', { param: 'password' });
    await this.throttle.recordSuccess(attempt);
    return identity;
  }

  /** Treats a missing or malformed response as unavailability, not as a wrong password. */
  private async query(
    { name, part }: ExtensionPart<IdentityProvider>,
    credentials: Pick<DirectoryCredentials, 'name' | 'password'>,
  ): Promise<ProvenIdentity | null> {
    const abort = new AbortController();
    try {
      const profile: unknown = await withDeadline(DEADLINE_MS, callProvider(part, credentials, abort.signal));
      if (profile === null) return null;
      if (typeof profile !== 'object') throw new TypeError('a profile is an object, or null');
      const attributes = profile as Readonly<Record<string, unknown>>;
      const { subject, email, emailVerified, displayName, groups = [] } = attributes;
      if (!areGroups(groups)) throw new TypeError(`groups are a list of at most ${MAX_GROUPS} names`);
      const role = roleOf(this.settings.extensionRoles?.[name], groups);
      return validateClaims(issuerOf(name), { subject, email, emailVerified, name: displayName }, role);
    } catch (error) {
      // The error message could contain the password.
      const redactedMessage = thrownMessage(error)
        .replaceAll(credentials.password, '[redacted]')
        .slice(0, 500);
      this.logger.warn('a directory could not be asked', { directory: name, said: redactedMessage });
      throw fault('auth_unavailable', { retryAfterSeconds: 5 });
    } finally {
      abort.abort();
    }
  }
}

/** Rejects roles for a missing directory, which would otherwise look like rules in force. */
export function verifyDirectoryRoles({ identityProviders }: Extensions, { extensionRoles }: Settings): void {
  const registeredIds = new Set(identityProviders.map(({ name }) => name));
  const issues = Object.keys(extensionRoles ?? {})
    .filter((id) => !registeredIds.has(id))
    .map((id) => ({ name: 'EXTENSION_ROLES', problem: `no extension brings ${id}` }));
  if (issues.length > 0) throw new SettingsError(issues);
}

const areGroups = (value: unknown): value is string[] =>
  Array.isArray(value) &&
  value.length <= MAX_GROUPS &&
  [...(value as unknown[])].every((group) => typeof group === 'string');

/** Directories ignore case, accents and invisible characters (RFC 4518), so spellings of one name share a throttle. */
const normaliseForThrottle = (name: string): string =>
  name
    .normalize('NFKD')
    .toUpperCase()
    .replaceAll(/[\p{M}\p{C}\p{Z}\p{DI}]/gu, '');

/** Turns a synchronous throw into a rejection. */
const callProvider = async (
  part: IdentityProvider,
  credentials: Pick<DirectoryCredentials, 'name' | 'password'>,
  signal: AbortSignal,
): Promise<unknown> => part.authenticate(Object.freeze({ ...credentials }), signal);
