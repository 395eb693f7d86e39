import type { ProvenIdentity } from '../../../identity';
import { isPlainLine, roles } from '../../../kernel';
import { mailAddress, type RoleMap } from '../../../platform';

export interface UnverifiedClaims {
  readonly subject: unknown;
  readonly email: unknown;
  readonly emailVerified: unknown;
  readonly name: unknown;
}

/** OpenID Connect Core 1.0, section 2: a subject has at most 255 characters. */
const MAX_SUBJECT_LENGTH = 255;
const MAX_ADDRESS_LENGTH = 254;
const MAX_NAME_LENGTH = 100;
/** Validates claims like form input. Throws without a valid subject; an invalid address or name counts as absent. */
export function validateClaims(
  issuer: string,
  { subject, email, emailVerified, name }: UnverifiedClaims,
  role: ProvenIdentity['role'],
): ProvenIdentity {
  if (!isPrintableLine(subject, MAX_SUBJECT_LENGTH) || subject !== subject.trim())
    throw new Error('the subject is no name');
  const address = isPrintableLine(email, MAX_ADDRESS_LENGTH) ? email.trim() : '';
  const isAddress = mailAddress.test(address);
  const displayName =
    typeof name === 'string' ? [...name.trim()].slice(0, MAX_NAME_LENGTH).join('').trim() : '';
  return {
    issuer,
    subject,
    email: isAddress ? address : null,
    emailVerified: isAddress && emailVerified === true,
    name: isPrintableLine(displayName, 2 * MAX_NAME_LENGTH) && isPlainLine(displayName) ? displayName : null,
    role,
  };
}

/** Returns the highest role among the mapped groups; with a mapping but no matching group, the lowest role. */
export function roleOf(mapping: RoleMap | undefined, groups: readonly unknown[]): ProvenIdentity['role'] {
  if (mapping === undefined) return null;
  const groupSet = new Set(groups);
  const mappedRoles = mapping.filter(([group]) => groupSet.has(group)).map(([, role]) => role);
  return mappedRoles.sort((a, b) => roles.indexOf(b) - roles.indexOf(a))[0] ?? 'user';
}

/** Control characters, lone surrogates and line separators. */
const unprintable = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u;

const isPrintableLine = (value: unknown, maxLength: number): value is string =>
  typeof value === 'string' && value.trim() !== '' && value.length <= maxLength && !unprintable.test(value);
