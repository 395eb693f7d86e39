import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export const openIdClient = { id: 'switchboard', secret: 'a secret of the tests that is long enough' };

/** Name of an endpoint. */
type OpenIdEndpoint = 'discovery' | 'keys' | 'token' | 'claims';

/** OpenID Connect provider whose claims and responses a test controls. */
export class OpenIdStandIn {
  /** Claims for the ID token; `undefined` omits a claim. */
  claims: Readonly<Record<string, unknown>> = {};
  /** Overrides of an endpoint's response. */
  readonly overrides = new Map<OpenIdEndpoint, (response: ServerResponse) => void>();
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

  /** Returns the path and query the browser comes back with after it was sent to `location`. */
  callbackFrom(location: string): string {
    const { searchParams: query } = new URL(location);
    this.nonce = query.get('nonce') ?? '';
    const callbackUrl = new URL(query.get('redirect_uri') ?? '');
    callbackUrl.searchParams.set('code', randomBytes(8).toString('hex'));
    callbackUrl.searchParams.set('state', query.get('state') ?? '');
    return callbackUrl.pathname + callbackUrl.search;
  }

  private answer({ url = '/' }: IncomingMessage, response: ServerResponse): void {
    const part: OpenIdEndpoint =
      url === '/keys' ? 'keys' : url === '/token' ? 'token' : url === '/claims' ? 'claims' : 'discovery';
    const override = this.overrides.get(part);
    if (override !== undefined) return override(response);
    const documents: Readonly<Record<OpenIdEndpoint, () => object>> = {
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

/** Sends up to this many bytes for as long as the reader accepts them; returns the count of bytes sent. */
export function sendEndlessly(response: ServerResponse, maxBytes: number): { sent: number } {
  const progress = { sent: 0 };
  const piece = Buffer.alloc(64 * 1_024, 0x20);
  response.writeHead(200, { 'content-type': 'application/json' });
  const writeMore = (): void => {
    while (progress.sent < maxBytes && !response.destroyed) {
      progress.sent += piece.length;
      if (!response.write(piece)) return void response.once('drain', writeMore);
    }
    response.end();
  };
  writeMore();
  return progress;
}
