/** A person as a directory knows them. */
export interface PersonProfile {
  /** The directory knows the person by it for good; a name or an address may pass to another person. */
  readonly subject: string;
  readonly email: string | null;
  /** Whether the directory vouches that the address is the person's; without it no account is opened. */
  readonly emailVerified: boolean;
  readonly displayName?: string | null;
  /** The names of the groups that the person is in; the operator decides which of them mean a role. */
  readonly groups?: readonly string[];
}

/** Who signs in, as typed; neither is empty. */
export interface TypedPassword {
  readonly name: string;
  readonly password: string;
}

/**
 * A directory that people sign in to with a name and a password, on the host's own page. The host counts attempts, opens
 * accounts and sessions, and asks for the second factor.
 */
export interface IdentityProvider {
  readonly name: string;
  /** What people call it, such as "Acme directory". */
  readonly label: string;
  /** The person; null where name or password is wrong. Where it cannot tell, it throws: that is no wrong password. */
  authenticate(typed: TypedPassword, signal: AbortSignal): Promise<PersonProfile | null>;
}
