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

/** Devices make keys for it: a host, and the one address under which its pages ask for them. */
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

/** Large, and needed by few requests: the first of them loads it, so that a start does not. */
const library = () => import('@simplewebauthn/server');

/** Devices in use can do EdDSA, ES256 and RS256. */
const algorithms = [-8, -7, -257];
const TIME_OUT_MS = 300_000;
const WORD = /^[\w-]{1,1400}$/;

export async function enrolmentOptions(
  party: RelyingParty,
  challenge: string,
  person: { readonly handle: Buffer; readonly name: string; readonly displayName: string },
  known: readonly KnownCredential[],
): Promise<EnrolmentOptions> {
  const { generateRegistrationOptions } = await library();
  return generateRegistrationOptions({
    rpName: party.name,
    rpID: party.id,
    userID: new Uint8Array(person.handle),
    userName: person.name,
    userDisplayName: person.displayName,
    challenge: new Uint8Array(Buffer.from(challenge, 'base64url')),
    timeout: TIME_OUT_MS,
    attestationType: 'none',
    excludeCredentials: known.map(listed),
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    supportedAlgorithmIDs: algorithms,
  });
}

export async function signInOptions(
  party: RelyingParty,
  challenge: string,
  known: readonly KnownCredential[],
): Promise<SignInOptions> {
  const { generateAuthenticationOptions } = await library();
  return generateAuthenticationOptions({
    rpID: party.id,
    challenge: new Uint8Array(Buffer.from(challenge, 'base64url')),
    timeout: TIME_OUT_MS,
    userVerification: 'required',
    allowCredentials: known.map(listed),
  });
}

/** Throws on an answer that is not of this challenge, page and host, or whose person was not verified. */
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

/** The same, and on a signature by another key or a counter that went back. */
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

/** The answer has a browser's `credential`, or is null. The library checks all but what a lookup needs. */
export function readAnswer<Answer extends { id: string; response: object }>(text: string): Answer | null {
  let value: unknown;
  try {
    value = parseJsonText(text);
  } catch {
    return null;
  }
  if (!isRecord(value) || !isRecord(value['response'])) return null;
  return typeof value['id'] === 'string' && WORD.test(value['id']) ? (value as unknown as Answer) : null;
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;

const listed = ({ id, transports }: KnownCredential) => ({ id, transports: [...transports] });
