import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export const openIdClient = { id: 'switchboard', secret: 'a secret of the tests that is long enough' };

/** The part names one of its answers. */
type Part = 'discovery' | 'keys' | 'token' | 'claims';

/** A provider of OpenID Connect that says of a person what a test wants, and in the way it wants. */
export class OpenIdStandIn {
  /** Put into the ID token; `undefined` leaves a claim out. */
  claims: Readonly<Record<string, unknown>> = {};
  /** Answers in the provider's place where it is set. */
  readonly instead = new Map<Part, (response: ServerResponse) => void>();
  private nonce = '';
  private readonly key: KeyObject;
  private readonly publicKey: object;

  private constructor(private readonly server: Server) {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    this.key = privateKey;
    this.publicKey = { ...publicKey.export({ format: 'jwk' }), kid: 'one', alg: 'ES256', use: 'sig' };
  }

  static async start(): Promise<OpenIdStandIn> {
    const server = createServer();
    const standIn = new OpenIdStandIn(server);
    server.on('request', (request, response) => standIn.answer(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return standIn;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  close(): Promise<void> {
    this.server.closeAllConnections();
    return new Promise((resolve) => this.server.close(() => resolve()));
  }

  /** The browser comes back with this, after it was sent to `location`. */
  callbackFrom(location: string): string {
    const { searchParams: query } = new URL(location);
    this.nonce = query.get('nonce') ?? '';
    const back = new URL(query.get('redirect_uri') ?? '');
    back.searchParams.set('code', randomBytes(8).toString('hex'));
    back.searchParams.set('state', query.get('state') ?? '');
    return back.pathname + back.search;
  }

  private answer({ url = '/' }: IncomingMessage, response: ServerResponse): void {
    const part: Part =
      url === '/keys' ? 'keys' : url === '/token' ? 'token' : url === '/claims' ? 'claims' : 'discovery';
    const instead = this.instead.get(part);
    if (instead !== undefined) return instead(response);
    const documents: Readonly<Record<Part, () => object>> = {
      discovery: () => ({
        issuer: this.url,
        authorization_endpoint: `${this.url}/authorize`,
        token_endpoint: `${this.url}/token`,
        jwks_uri: `${this.url}/keys`,
      }),
      keys: () => ({ keys: [this.publicKey] }),
      token: () => ({ access_token: 'opaque', token_type: 'Bearer', id_token: this.token() }),
      claims: () => this.claims,
    };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(documents[part]()));
  }

  private token(): string {
    const now = Math.floor(Date.now() / 1_000);
    const head = { alg: 'ES256', kid: 'one' };
    const claims = {
      iss: this.url,
      aud: openIdClient.id,
      iat: now,
      exp: now + 300,
      nonce: this.nonce,
      ...this.claims,
    };
    const text = [head, claims]
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.');
    const signature = sign('sha256', Buffer.from(text), { key: this.key, dsaEncoding: 'ieee-p1363' });
    return `${text}.${signature.toString('base64url')}`;
  }
}

/** Sends for as long as it is let; answers how many bytes left. */
export function pourOut(response: ServerResponse, most: number): { sent: number } {
  const poured = { sent: 0 };
  const piece = Buffer.alloc(64 * 1_024, 0x20);
  response.writeHead(200, { 'content-type': 'application/json' });
  const pour = (): void => {
    while (poured.sent < most && !response.destroyed) {
      poured.sent += piece.length;
      if (!response.write(piece)) return void response.once('drain', pour);
    }
    response.end();
  };
  pour();
  return poured;
}
