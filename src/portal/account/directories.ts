import { Injectable } from '@nestjs/common';
import type { IdentityProvider } from '#extension';
import { Extensions, type Owned } from '../../extensions';
import { AttemptThrottle, LinkedIdentities, type ProvenIdentity, type SignUpContext } from '../../identity';
import { fault, thrownWords, withDeadline } from '../../kernel';
import { Logger, Settings, SettingsError } from '../../platform';
import { identityFrom, roleOf } from './providers/claims';

/** What a person typed into the form of a directory, and where from. */
export interface DirectoryAttempt {
  readonly name: string;
  readonly password: string;
  readonly address: string;
}

const DEADLINE_MS = 10_000;
const MOST_GROUPS = 10_000;
const issuerOf = (id: string): string => `extension:${id}`;

/** The directories that extensions bring: people sign in with the name and the password that they have there. */
@Injectable()
export class Directories {
  constructor(
    private readonly extensions: Extensions,
    private readonly throttle: AttemptThrottle,
    private readonly identities: LinkedIdentities,
    private readonly logger: Logger,
    private readonly settings: Settings,
  ) {}

  /** Pages need a name and where its button leads. */
  shown(next = ''): { name: string; href: string }[] {
    return this.extensions.identityProviders.map(({ name: id, part: { label } }) => {
      const query = new URLSearchParams({ with: id, ...(next !== '' && { next }) });
      return { name: label, href: `/login?${query.toString()}` };
    });
  }

  /** The settings need a form for each. */
  linkable(): { id: string; name: string }[] {
    return this.extensions.identityProviders.map(({ name: id, part: { label } }) => ({ id, name: label }));
  }

  find(id: string): Owned<IdentityProvider> | undefined {
    return this.extensions.identityProviders.find(({ name }) => name === id);
  }

  /** Its people are kept under this issuer; undefined where it is of no directory that is there. */
  nameOf(issuer: string): string | undefined {
    return this.extensions.identityProviders.find(({ name }) => issuerOf(name) === issuer)?.part.label;
  }

  /** The account of a person whom a directory recognises. */
  async enter(id: string, typed: DirectoryAttempt, newcomer: SignUpContext): Promise<number> {
    return this.identities.recognise(await this.prove(id, typed), newcomer);
  }

  /** The person whom a directory recognises. Attempts count as those of passwords do. */
  async prove(id: string, typed: DirectoryAttempt): Promise<ProvenIdentity> {
    const directory = this.find(id);
    if (directory === undefined) throw fault('not_found', { message: 'No such directory is set up.' });
    const name = typed.name.trim();
    // An empty password would be an anonymous sign-in to some directories, and succeed.
    if (name === '' || typed.password === '') throw fault('invalid_credentials', { param: 'password' });
    const account = `${directory.name}:${countedName(name)}`;
    const attempt = { purpose: 'sign-in', account, address: typed.address } as const;
    await this.throttle.take(attempt);
    const identity = await this.ask(directory, { name, password: typed.password });
    if (identity === null) throw fault('invalid_credentials', { param: 'password' });
    await this.throttle.succeeded(attempt);
    return identity;
  }

  /** A directory that does not answer, or answers rubbish, says nothing about the password. */
  private async ask(
    { name, part }: Owned<IdentityProvider>,
    typed: Pick<DirectoryAttempt, 'name' | 'password'>,
  ): Promise<ProvenIdentity | null> {
    const left = new AbortController();
    try {
      const profile: unknown = await withDeadline(DEADLINE_MS, answerOf(part, typed, left.signal));
      if (profile === null) return null;
      if (typeof profile !== 'object') throw new TypeError('a profile is an object, or null');
      const answered = profile as Readonly<Record<string, unknown>>;
      const { subject, email, emailVerified, displayName, groups = [] } = answered;
      if (!areGroups(groups)) throw new TypeError(`groups are a list of at most ${MOST_GROUPS} names`);
      const role = roleOf(this.settings.extensionRoles?.[name], groups);
      return identityFrom(issuerOf(name), { subject, email, emailVerified, name: displayName }, role);
    } catch (error) {
      // Its message may repeat what was typed.
      const blanked = thrownWords(error).replaceAll(typed.password, '[redacted]').slice(0, 500);
      this.logger.warn('a directory could not be asked', { directory: name, said: blanked });
      throw fault('auth_unavailable', { retryAfterSeconds: 5 });
    } finally {
      left.abort();
    }
  }
}

/** Roles for a directory that nobody brings must not be taken for a rule that holds. */
export function verifyDirectoryRoles({ identityProviders }: Extensions, { extensionRoles }: Settings): void {
  const known = new Set(identityProviders.map(({ name }) => name));
  const faults = Object.keys(extensionRoles ?? {})
    .filter((id) => !known.has(id))
    .map((id) => ({ name: 'EXTENSION_ROLES', problem: `no extension brings ${id}` }));
  if (faults.length > 0) throw new SettingsError(faults);
}

const areGroups = (value: unknown): value is string[] =>
  Array.isArray(value) &&
  value.length <= MOST_GROUPS &&
  [...(value as unknown[])].every((group) => typeof group === 'string');

/** Directories ignore case, accents and invisible characters (RFC 4518), so their spellings share one count. */
const countedName = (name: string): string =>
  name
    .normalize('NFKD')
    .toUpperCase()
    .replaceAll(/[\p{M}\p{C}\p{Z}\p{DI}]/gu, '');

/** What it throws at once is a rejection, too. */
const answerOf = async (
  part: IdentityProvider,
  typed: Pick<DirectoryAttempt, 'name' | 'password'>,
  signal: AbortSignal,
): Promise<unknown> => part.authenticate(Object.freeze({ ...typed }), signal);
