/** A user as known to a directory. */
export interface PersonProfile {
  /** Permanent identifier of the user in the directory; a name or an address can pass to another user. */
  readonly subject: string;
  readonly email: string | null;
  /** Whether the directory guarantees that the address belongs to the user; without it no account is created. */
  readonly emailVerified: boolean;
  readonly displayName?: string | null;
  /** Names of the user's groups; the operator decides which of them grant a role. */
  readonly groups?: readonly string[];
}

/** Credentials as typed; neither is empty. */
export interface TypedPassword {
  readonly name: string;
  readonly password: string;
}

/**
 * A directory whose users sign in with a name and a password on the host's own page. The host limits attempts, creates
 * accounts and sessions, and requires the second factor.
 */
export interface IdentityProvider {
  readonly name: string;
  /** Name shown to users, such as "Acme directory". */
  readonly label: string;
  /**
   * Returns the user; null if name or password is wrong. Throws if the directory cannot tell, which does not count as a
   * wrong password.
   */
  authenticate(typed: TypedPassword, signal: AbortSignal): Promise<PersonProfile | null>;
}
