import type { ProvenIdentity } from '../../../identity';
import { isPlainLine, roles } from '../../../kernel';
import { mailAddress, type RoleMap } from '../../../platform';

/** A provider claims this of a person, before it is looked at. */
export interface Claims {
  readonly subject: unknown;
  readonly email: unknown;
  readonly emailVerified: unknown;
  readonly name: unknown;
}

/** OpenID Connect Core 1.0, section 2: a subject has at most 255 characters. */
const MOST_SUBJECT = 255;
const MOST_ADDRESS = 254;
const MOST_NAME = 100;
/**
 * Claims are held to what a form of ours takes. Without a subject nobody is recognised; an address or a name that no
 * form would take counts as none.
 */
export function identityFrom(
  issuer: string,
  { subject, email, emailVerified, name }: Claims,
  role: ProvenIdentity['role'],
): ProvenIdentity {
  if (!isLine(subject, MOST_SUBJECT) || subject !== subject.trim()) throw new Error('the subject is no name');
  const address = isLine(email, MOST_ADDRESS) ? email.trim() : '';
  const isAddress = mailAddress.test(address);
  const called = typeof name === 'string' ? [...name.trim()].slice(0, MOST_NAME).join('').trim() : '';
  return {
    issuer,
    subject,
    email: isAddress ? address : null,
    emailVerified: isAddress && emailVerified === true,
    name: isLine(called, 2 * MOST_NAME) && isPlainLine(called) ? called : null,
    role,
  };
}

/** The highest role that a group means; with a mapping and no such group, the lowest. */
export function roleOf(mapping: RoleMap | undefined, groups: readonly unknown[]): ProvenIdentity['role'] {
  if (mapping === undefined) return null;
  const held = new Set(groups);
  const meant = mapping.filter(([group]) => held.has(group)).map(([, role]) => role);
  return meant.sort((a, b) => roles.indexOf(b) - roles.indexOf(a))[0] ?? 'user';
}

/** Matches control characters, halves of characters and ends of lines; a subject is taken as it is otherwise. */
const unprintable = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u;

const isLine = (value: unknown, most: number): value is string =>
  typeof value === 'string' && value.trim() !== '' && value.length <= most && !unprintable.test(value);
