import { createHash, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export const githubClient = {
  id: 'Iv1.0123456789abcdef',
  secret: 'a secret of the tests that is long enough',
};

export interface GithubPerson {
  readonly id: unknown;
  readonly login: string;
  readonly name?: string | null;
  readonly emails: readonly {
    readonly email: string;
    readonly primary: boolean;
    readonly verified: boolean;
  }[];
}

interface Granted {
  readonly person: GithubPerson;
  readonly challenge: string;
  readonly redirect: string;
}

/** As much of a GitHub Enterprise as a sign-in asks: its pages of OAuth and two of its interface. */
export class GithubStandIn {
  /** This person is signed in there: the next browser to come is theirs. */
  person: GithubPerson | null = null;
  /** Its interface answers this instead of the addresses of the person. */
  emailsAnswer: { readonly status: number; readonly body: unknown } | null = null;
  /** Paths that were asked, with what they were asked as. */
  readonly asked: { readonly path: string; readonly headers: IncomingMessage['headers'] }[] = [];

  private readonly codes = new Map<string, Granted>();
  private readonly tokens = new Map<string, GithubPerson>();

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
    this.asked.push({ path: url.pathname + url.search, headers: request.headers });
    if (url.pathname === '/login/oauth/authorize') return this.authorize(url.searchParams, response);
    if (url.pathname === '/login/oauth/access_token') return this.exchange(request, response);
    const [, token = ''] = (request.headers.authorization ?? '').split(' ');
    const person = this.tokens.get(token);
    if (person === undefined) return json(response, 401, { message: 'Bad credentials' });
    if (request.headers['user-agent'] === undefined) return json(response, 403, { message: 'no user agent' });
    if (url.pathname === '/api/v3/user') return json(response, 200, { ...person, emails: undefined });
    if (url.pathname !== '/api/v3/user/emails') return json(response, 404, { message: 'Not Found' });
    const { status, body } = this.emailsAnswer ?? { status: 200, body: person.emails };
    json(response, status, body);
  }

  private authorize(query: URLSearchParams, response: ServerResponse): void {
    const redirect = query.get('redirect_uri') ?? '';
    const isOurs = query.get('client_id') === githubClient.id && this.callbacks.includes(redirect);
    const challenge = query.get('code_challenge') ?? '';
    const isProven = query.get('code_challenge_method') === 'S256' && challenge !== '';
    if (!isOurs || !isProven || this.person === null || query.get('response_type') !== 'code')
      return json(response, 400, { message: 'not as registered' });
    const code = randomBytes(10).toString('hex');
    this.codes.set(code, { person: this.person, challenge, redirect });
    const back = new URL(redirect);
    back.searchParams.set('code', code);
    back.searchParams.set('state', query.get('state') ?? '');
    response.writeHead(302, { location: back.href }).end();
  }

  private async exchange(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const form = new URLSearchParams(Buffer.concat(chunks).toString());
    const code = form.get('code') ?? '';
    const granted = this.codes.get(code);
    this.codes.delete(code);
    const verifier = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    const isClient =
      form.get('client_id') === githubClient.id && form.get('client_secret') === githubClient.secret;
    const isRight =
      isClient && granted?.challenge === verifier && granted.redirect === form.get('redirect_uri');
    // GitHub's refusals are 200.
    if (granted === undefined || !isRight) return json(response, 200, { error: 'bad_verification_code' });
    const token = `gho_${randomBytes(18).toString('hex')}`;
    this.tokens.set(token, granted.person);
    json(response, 200, { access_token: token, scope: 'read:user,user:email', token_type: 'bearer' });
  }
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify(body));
}
