import { createHash, createSign, generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto';

interface CeremonyOptions {
  readonly challenge: string;
}

export interface CreationCeremonyOptions extends CeremonyOptions {
  readonly rp: { readonly id?: string };
  readonly user: { readonly id: string };
  readonly excludeCredentials?: readonly { readonly id: string }[];
}

export interface RequestCeremonyOptions extends CeremonyOptions {
  readonly rpId?: string;
  readonly allowCredentials?: readonly { readonly id: string }[];
}

/** Differences from a correct response, as an attacker or a broken device would produce. */
interface Deviation {
  readonly origin?: string;
  readonly rpId?: string;
  readonly type?: string;
  readonly challenge?: string;
  readonly isVerified?: boolean;
  readonly count?: number;
  readonly userHandle?: string;
}

interface DevicePasskey {
  readonly id: Buffer;
  readonly rpId: string;
  readonly userHandle: string;
  readonly key: KeyObject;
  count: number;
}

/** A device that creates and stores passkeys (ES256), together with the browser that passes on its responses. */
export class Authenticator {
  readonly passkeys: DevicePasskey[] = [];

  constructor(private readonly origin: string) {}

  create(options: CreationCeremonyOptions, deviation: Deviation = {}): string {
    const rpId = deviation.rpId ?? options.rp.id ?? '';
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const jwk = publicKey.export({ format: 'jwk' });
    const id = randomBytes(32);
    const cose = cborMap([
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, Buffer.from(jwk.x ?? '', 'base64url')],
      [-3, Buffer.from(jwk.y ?? '', 'base64url')],
    ]);
    const attestedCredentialData = Buffer.concat([Buffer.alloc(16), uint16(id.length), id, cose]);
    const count = deviation.count ?? 0;
    const authData = Buffer.concat([
      head(rpId, ATTESTED | flagsOf(deviation), count),
      attestedCredentialData,
    ]);
    const attestationObject = cborMap([
      ['fmt', 'none'],
      ['attStmt', new Map()],
      ['authData', authData],
    ]);
    this.passkeys.push({ id, rpId, userHandle: options.user.id, key: privateKey, count });
    return answer(id, {
      clientDataJSON: this.clientData('webauthn.create', options, deviation).toString('base64url'),
      attestationObject: attestationObject.toString('base64url'),
      transports: ['internal'],
    });
  }

  /** Signs with the newest passkey that the server allows. */
  get(options: RequestCeremonyOptions, deviation: Deviation = {}): string {
    const allowed = options.allowCredentials ?? [];
    const passkey = this.passkeys.findLast(
      ({ id, rpId }) =>
        rpId === options.rpId &&
        (allowed.length === 0 || allowed.some((credential) => credential.id === id.toString('base64url'))),
    );
    if (passkey === undefined) throw new Error('this device holds no key of that host');
    passkey.count = deviation.count ?? passkey.count + 1;
    const authData = head(deviation.rpId ?? passkey.rpId, flagsOf(deviation), passkey.count);
    const clientData = this.clientData('webauthn.get', options, deviation);
    const signature = createSign('sha256')
      .update(Buffer.concat([authData, createHash('sha256').update(clientData).digest()]))
      .sign(passkey.key);
    return answer(passkey.id, {
      clientDataJSON: clientData.toString('base64url'),
      authenticatorData: authData.toString('base64url'),
      signature: signature.toString('base64url'),
      userHandle: deviation.userHandle ?? passkey.userHandle,
    });
  }

  private clientData(type: string, options: CeremonyOptions, deviation: Deviation): Buffer {
    const clientData = {
      type: deviation.type ?? type,
      challenge: deviation.challenge ?? options.challenge,
      origin: deviation.origin ?? this.origin,
      crossOrigin: false,
    };
    return Buffer.from(JSON.stringify(clientData));
  }
}

const PRESENT = 0x01;
const VERIFIED = 0x04;
const ATTESTED = 0x40;

const flagsOf = ({ isVerified = true }: Deviation): number => PRESENT | (isVerified ? VERIFIED : 0);

function head(rpId: string, flags: number, count: number): Buffer {
  const counter = Buffer.alloc(4);
  counter.writeUInt32BE(count);
  return Buffer.concat([createHash('sha256').update(rpId).digest(), Buffer.from([flags]), counter]);
}

function answer(id: Buffer, response: object): string {
  const text = id.toString('base64url');
  return JSON.stringify({ id: text, rawId: text, type: 'public-key', response, clientExtensionResults: {} });
}

function uint16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(value);
  return bytes;
}

type Cbor = number | string | Buffer | Map<number | string, Cbor>;

const cborMap = (pairs: [number | string, Cbor][]): Buffer => cbor(new Map(pairs));

/** The subset of CBOR that an attestation without a statement needs. */
function cbor(value: Cbor): Buffer {
  if (typeof value === 'number') return value < 0 ? sized(1, -1 - value) : sized(0, value);
  if (typeof value === 'string')
    return Buffer.concat([sized(3, Buffer.byteLength(value)), Buffer.from(value)]);
  if (Buffer.isBuffer(value)) return Buffer.concat([sized(2, value.length), value]);
  return Buffer.concat([sized(5, value.size), ...[...value].flat().map((part) => cbor(part))]);
}

function sized(major: number, size: number): Buffer {
  if (size < 24) return Buffer.from([(major << 5) | size]);
  return size < 256
    ? Buffer.from([(major << 5) | 24, size])
    : Buffer.concat([Buffer.from([(major << 5) | 25]), uint16(size)]);
}
