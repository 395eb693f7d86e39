import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
  VerifiedAuthenticationResponse,
  VerifiedRegistrationResponse,
} from '@simplewebauthn/server';
import { parseJsonText } from '../../kernel';

export type EnrolmentOptions = PublicKeyCredentialCreationOptionsJSON;
export type SignInOptions = PublicKeyCredentialRequestOptionsJSON;

/** Party for which devices create keys: a host, and the only origin whose pages request them. */
export interface RelyingParty {
  readonly id: string;
  readonly origin: string;
  readonly name: string;
}

export interface KnownCredential {
  readonly id: string;
  readonly transports: readonly string[];
}

interface StoredCredential extends KnownCredential {
  readonly publicKey: Buffer;
  readonly counter: number;
}

/** Large and rarely needed, so the first request loads it instead of the start. */
const library = () => import('@simplewebauthn/server');

/** Devices in use support EdDSA, ES256 and RS256. */
const algorithms = [-8, -7, -257];
const TIMEOUT_MS = 300_000;
const CREDENTIAL_ID = /^[\w-]{1,1400}$/;

export async function enrolmentOptions(
  party: RelyingParty,
  challenge: string,
  user: { readonly handle: Buffer; readonly name: string; readonly displayName: string },
  existing: readonly KnownCredential[],
): Promise<EnrolmentOptions> {
  const { generateRegistrationOptions } = await library();
  return generateRegistrationOptions({
    rpName: party.name,
    rpID: party.id,
    userID: new Uint8Array(user.handle),
    userName: user.name,
    userDisplayName: user.displayName,
    challenge: new Uint8Array(Buffer.from(challenge, 'base64url')),
    timeout: TIMEOUT_MS,
    attestationType: 'none',
    excludeCredentials: existing.map(toDescriptor),
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    supportedAlgorithmIDs: algorithms,
  });
}

export async function signInOptions(
  party: RelyingParty,
  challenge: string,
  allowed: readonly KnownCredential[],
): Promise<SignInOptions> {
  const { generateAuthenticationOptions } = await library();
  return generateAuthenticationOptions({
    rpID: party.id,
    challenge: new Uint8Array(Buffer.from(challenge, 'base64url')),
    timeout: TIMEOUT_MS,
    userVerification: 'required',
    allowCredentials: allowed.map(toDescriptor),
  });
}

/** Throws if the response is for another challenge, page or host, or if its user was not verified. */
export async function checkEnrolment(
  { id: expectedRPID, origin: expectedOrigin }: RelyingParty,
  expectedChallenge: string,
  response: RegistrationResponseJSON,
): Promise<VerifiedRegistrationResponse> {
  const { verifyRegistrationResponse } = await library();
  return verifyRegistrationResponse({
    response,
    expectedChallenge,
    expectedOrigin,
    expectedRPID,
    requireUserVerification: true,
    supportedAlgorithmIDs: algorithms,
  });
}

/** Throws like `checkEnrolment`, and for a signature by another key or a counter that went back. */
export async function checkSignIn(
  { id: expectedRPID, origin: expectedOrigin }: RelyingParty,
  expectedChallenge: string,
  response: AuthenticationResponseJSON,
  { id, publicKey, counter }: StoredCredential,
): Promise<VerifiedAuthenticationResponse> {
  const { verifyAuthenticationResponse } = await library();
  return verifyAuthenticationResponse({
    response,
    expectedChallenge,
    expectedOrigin,
    expectedRPID,
    credential: { id, publicKey: new Uint8Array(publicKey), counter },
    requireUserVerification: true,
  });
}

/**
 * Parses a browser's `credential`; null if it is invalid. Checks only what a look-up needs, since the library checks
 * the rest.
 */
export function parseResponse<Answer extends { id: string; response: object }>(text: string): Answer | null {
  let value: unknown;
  try {
    value = parseJsonText(text);
  } catch {
    return null;
  }
  if (!isRecord(value) || !isRecord(value['response'])) return null;
  return typeof value['id'] === 'string' && CREDENTIAL_ID.test(value['id'])
    ? (value as unknown as Answer)
    : null;
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;

const toDescriptor = ({ id, transports }: KnownCredential) => ({ id, transports: [...transports] });
