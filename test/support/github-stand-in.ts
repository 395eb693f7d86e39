import { createHash, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export const githubClient = {
  id: 'Iv1.0123456789abcdef',
  secret: 'a secret of the tests that is long enough',
};

export interface GithubUser {
  readonly id: unknown;
  readonly login: string;
  readonly name?: string | null;
  readonly emails: readonly {
    readonly email: string;
    readonly primary: boolean;
    readonly verified: boolean;
  }[];
}

interface AuthorizationGrant {
  readonly user: GithubUser;
  readonly challenge: string;
  readonly redirect: string;
}

/** The subset of GitHub Enterprise that a sign-in uses: the OAuth pages and two API endpoints. */
export class GithubStandIn {
  /** User signed in at GitHub; the next browser to authorise is theirs. */
  signedInUser: GithubUser | null = null;
  /** Overrides the API response with the user's email addresses. */
  emailsResponse: { readonly status: number; readonly body: unknown } | null = null;
  /** Requests received, with path and headers. */
  readonly requests: { readonly path: string; readonly headers: IncomingMessage['headers'] }[] = [];

  private readonly codes = new Map<string, AuthorizationGrant>();
  private readonly tokens = new Map<string, GithubUser>();

  private constructor(
    private readonly server: Server,
    private readonly callbacks: readonly string[],
  ) {}

  static async start(callbacks: readonly string[]): Promise<GithubStandIn> {
    const server = createServer();
    const standIn = new GithubStandIn(server, callbacks);
    server.on('request', (request, response) => void standIn.answer(request, response));
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

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.url);
    this.requests.push({ path: url.pathname + url.search, headers: request.headers });
    if (url.pathname === '/login/oauth/authorize') return this.authorize(url.searchParams, response);
    if (url.pathname === '/login/oauth/access_token') return this.exchange(request, response);
    const [, token = ''] = (request.headers.authorization ?? '').split(' ');
    const user = this.tokens.get(token);
    if (user === undefined) return json(response, 401, { message: 'Bad credentials' });
    if (request.headers['user-agent'] === undefined) return json(response, 403, { message: 'no user agent' });
    if (url.pathname === '/api/v3/user') return json(response, 200, { ...user, emails: undefined });
    if (url.pathname !== '/api/v3/user/emails') return json(response, 404, { message: 'Not Found' });
    const { status, body } = this.emailsResponse ?? { status: 200, body: user.emails };
    json(response, status, body);
  }

  private authorize(query: URLSearchParams, response: ServerResponse): void {
    const redirect = query.get('redirect_uri') ?? '';
    const isRegistered = query.get('client_id') === githubClient.id && this.callbacks.includes(redirect);
    const challenge = query.get('code_challenge') ?? '';
    const hasChallenge = query.get('code_challenge_method') === 'S256' && challenge !== '';
    if (!isRegistered || !hasChallenge || this.signedInUser === null || query.get('response_type') !== 'code')
      return json(response, 400, { message: 'not as registered' });
    const code = randomBytes(10).toString('hex');
    this.codes.set(code, { user: this.signedInUser, challenge, redirect });
    const callbackUrl = new URL(redirect);
    callbackUrl.searchParams.set('code', code);
    callbackUrl.searchParams.set('state', query.get('state') ?? '');
    response.writeHead(302, { location: callbackUrl.href }).end();
  }

  private async exchange(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const form = new URLSearchParams(Buffer.concat(chunks).toString());
    const code = form.get('code') ?? '';
    const grant = this.codes.get(code);
    this.codes.delete(code);
    const verifier = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    const isClient =
      form.get('client_id') === githubClient.id && form.get('client_secret') === githubClient.secret;
    const isVerified =
      isClient && grant?.challenge === verifier && grant.redirect === form.get('redirect_uri');
    // GitHub responds to errors with 200.
    if (grant === undefined || !isVerified) return json(response, 200, { error: 'bad_verification_code' });
    const token = `gho_${randomBytes(18).toString('hex')}`;
    this.tokens.set(token, grant.user);
    json(response, 200, { access_token: token, scope: 'read:user,user:email', token_type: 'bearer' });
  }
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify(body));
}
