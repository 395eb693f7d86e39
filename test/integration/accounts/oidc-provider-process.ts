import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A real OIDC provider in its own process. Tests choose the user who signs in through the `login_hint` parameter. */

interface ProviderUser {
  readonly email: string;
  readonly email_verified: boolean;
  readonly name: string;
  readonly groups?: readonly string[];
}

/** The used part of the package, which ships no types. */
interface OpenIdServer {
  callback(): (request: IncomingMessage, response: ServerResponse) => Promise<void>;
  interactionDetails(request: IncomingMessage, response: ServerResponse): Promise<Interaction>;
  interactionFinished(
    request: IncomingMessage,
    response: ServerResponse,
    result: object,
    options?: object,
  ): Promise<void>;
  readonly Grant: new (of: { accountId: string; clientId: string }) => {
    addOIDCScope(scope: string): void;
    save(): Promise<string>;
  };
}

interface Interaction {
  readonly prompt: { readonly name: string };
  readonly params: Readonly<Record<string, string>>;
  readonly session?: { readonly accountId: string };
}

async function main(): Promise<void> {
  // @ts-expect-error the package ships no types
  const { Provider } = (await import('oidc-provider')) as {
    Provider: new (issuer: string, configuration: object) => OpenIdServer;
  };
  const callbacks = process.argv.slice(2);
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const people = new Map<string, ProviderUser>();
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: 'switchboard',
        client_secret: 'a secret of the tests that is long enough',
        redirect_uris: callbacks,
        token_endpoint_auth_method: 'client_secret_post',
      },
    ],
    pkce: { required: () => true },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name', 'groups'] },
    conformIdTokenClaims: false,
    features: { devInteractions: { enabled: false } },
    cookies: { keys: ['one', 'two'] },
    interactions: {
      url: (_context: unknown, interaction: { uid: string }) => `/interaction/${interaction.uid}`,
    },
    findAccount: (_context: unknown, id: string) => ({
      accountId: id,
      claims: () => Promise.resolve({ sub: id, ...people.get(id) }),
    }),
  });
  const handle = provider.callback();
  server.on('request', (request, response) => {
    const url = new URL(request.url ?? '/', issuer);
    if (url.pathname === '/people') {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const { id, ...person } = JSON.parse(Buffer.concat(chunks).toString()) as ProviderUser & {
          id: string;
        };
        people.set(id, person);
        response.end('{}');
      });
      return;
    }
    if (url.pathname.startsWith('/interaction/')) {
      void signInAndConsent(request, response).catch((error: unknown) =>
        response.writeHead(500).end(String(error)),
      );
      return;
    }
    void handle(request, response);
  });

  /** Signs in and consents in place of the user. */
  async function signInAndConsent(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { prompt, params, session } = await provider.interactionDetails(request, response);
    if (prompt.name === 'login') {
      const login = { accountId: params['login_hint'] ?? '' };
      return provider.interactionFinished(request, response, { login });
    }
    const grant = new provider.Grant({
      accountId: session?.accountId ?? '',
      clientId: params['client_id'] ?? '',
    });
    grant.addOIDCScope('openid email profile');
    const consent = { grantId: await grant.save() };
    await provider.interactionFinished(request, response, { consent }, { mergeWithLastSubmission: true });
  }

  process.stdout.write(`provider ${issuer}\n`);
}

void main();
