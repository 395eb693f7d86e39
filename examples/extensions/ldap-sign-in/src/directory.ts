import type { PersonProfile, TypedPassword } from '@switchboard/extension';
import { converse, type Entry } from './session';
import type { DirectorySettings } from './settings';

const [SUCCESS, WRONG_NAME_OR_PASSWORD] = [0, 49];

/** Searches for the user's entry, and then binds with the password to check it. */
export async function authenticate(
  directory: DirectorySettings,
  { name, password }: TypedPassword,
  signal: AbortSignal,
): Promise<PersonProfile | null> {
  // With an empty password a directory reports success without a sign-in; some read only up to a zero byte.
  if (name === '' || password === '' || password.includes('\0')) return null;
  const [entry, another] = await entriesOf(directory, name, signal);
  if (entry === undefined || another !== undefined) return null;
  const profile = profileOf(entry, directory.subjectAttribute);
  const code = await converse(directory, signal, (session) => session.bind(entry.dn, password));
  if (code === SUCCESS) return profile;
  if (code === WRONG_NAME_OR_PASSWORD) return null;
  throw new Error(`the directory could not check a password, with result ${code}`);
}

const entriesOf = (directory: DirectorySettings, name: string, signal: AbortSignal) =>
  converse(directory, signal, async (session) => {
    const { bindDn, bindPassword, base, nameAttribute, subjectAttribute } = directory;
    const code = bindDn === '' ? SUCCESS : await session.bind(bindDn, bindPassword);
    // Throws instead of returning null: the user did not type the password of this account.
    if (code !== SUCCESS) throw new Error(`the directory refused our own account with result ${code}`);
    return session.search(base, nameAttribute, name, [subjectAttribute, 'mail', 'displayName', 'cn']);
  });

function profileOf({ attributes }: Entry, subjectAttribute: string): PersonProfile {
  const text = (name: string) => attributes.get(name)?.[0]?.toString('utf8') ?? null;
  const [subject, ...others] = attributes.get(subjectAttribute.toLowerCase()) ?? [];
  if (subject === undefined || others.length > 0) throw new Error(`an entry has no one ${subjectAttribute}`);
  return {
    subject: subjectAttribute === 'objectGUID' ? guidOf(subject) : subject.toString('utf8').toLowerCase(),
    email: text('mail'),
    // The company itself maintains the addresses in its directory.
    emailVerified: text('mail') !== null,
    displayName: text('displayname') ?? text('cn'),
  };
}

/** Formats sixteen bytes as Active Directory's own tools do: the first three numbers are little-endian. */
function guidOf(bytes: Buffer): string {
  if (bytes.length !== 16) throw new Error('an objectGUID has sixteen bytes');
  const [first, second] = [Buffer.from(bytes.subarray(0, 4)), Buffer.from(bytes.subarray(4, 8))];
  const hex = Buffer.concat([first.swap32(), second.swap16(), bytes.subarray(8)]).toString('hex');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
