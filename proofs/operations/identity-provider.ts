import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';

const clientId = 'switchboard';
const clientSecret = 'a secret of the proof that is long enough';

/** An OpenID provider without pages; `recognise` stands for the user's consent. */
export interface TestIdentityProvider {
  readonly issuer: string;
  /** Settings that configure the provider in both slots of the service. */
  readonly environment: Readonly<Record<string, string>>;
  /** The user consents to the request in `location`; returns the query of the callback. */
  recognise(location: string, person: { subject: string; email: string }): URLSearchParams;
  stop(): Promise<void>;
}

export async function startIdentityProvider(): Promise<TestIdentityProvider> {
  const { privateKey, publicKey } = await generateKeyPair('ES256');
  const key = { ...(await exportJWK(publicKey)), alg: 'ES256', kid: 'one' };
  const codes = new Map<string, { subject: string; email: string; nonce: string }>();
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  async function tokenFor(code: string): Promise<object> {
    const grant = codes.get(code);
    if (grant === undefined || !codes.delete(code)) return { error: 'invalid_grant' };
    const { subject, email, nonce } = grant;
    const token = new SignJWT({ nonce, email, email_verified: true, name: 'Ina Roth' })
      .setProtectedHeader({ alg: 'ES256', kid: 'one' })
      .setIssuer(issuer)
      .setAudience(clientId)
      .setSubject(subject)
      .setIssuedAt()
      .setExpirationTime('5m');
    return { access_token: code, token_type: 'Bearer', id_token: await token.sign(privateKey) };
  }

  async function answer(path: string, body: string): Promise<object> {
    if (path === '/keys') return { keys: [key] };
    if (path === '/token') return tokenFor(new URLSearchParams(body).get('code') ?? '');
    return {
      issuer,
      jwks_uri: `${issuer}/keys`,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
    };
  }

  server.on('request', (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      void answer(request.url ?? '/', Buffer.concat(chunks).toString()).then((json) =>
        response.writeHead('error' in json ? 400 : 200).end(JSON.stringify(json)),
      );
    });
  });

  return {
    issuer,
    environment: Object.fromEntries(
      ['IDP1', 'IDP2'].flatMap((slot) => [
        [`${slot}_ISSUER`, issuer],
        [`${slot}_CLIENT_ID`, clientId],
        [`${slot}_CLIENT_SECRET`, clientSecret],
      ]),
    ),
    recognise: (location, person) => {
      const authorizationQuery = new URL(location).searchParams;
      const code = `code-${codes.size}-${Math.random()}`;
      codes.set(code, { ...person, nonce: authorizationQuery.get('nonce') ?? '' });
      return new URLSearchParams({ code, state: authorizationQuery.get('state') ?? '' });
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
