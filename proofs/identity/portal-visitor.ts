import { request } from 'node:http';
import type { World } from '../operations/world';

export interface VisitResponse {
  readonly status: number;
  readonly location: string;
  readonly text: string;
}

const DEADLINE_MS = 20_000;

/** A browser at one host of the portal, which stores cookies and does not follow redirects automatically. */
export class HostVisitor {
  readonly cookies = new Map<string, string>();

  constructor(
    private readonly world: World,
    private readonly origin: string,
  ) {}

  get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<VisitResponse> {
    return this.send('GET', path, headers);
  }

  /** Posts like a script of a page of the same host, unless the headers say otherwise. */
  post(path: string, body: object, headers: Readonly<Record<string, string>> = {}): Promise<VisitResponse> {
    const defaultHeaders = { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' };
    return this.send('POST', path, { ...defaultHeaders, ...headers }, JSON.stringify(body));
  }

  /** The status of the terms shows whether a user is signed in: the smallest response only users can read. */
  async isSignedIn(): Promise<boolean> {
    return (await this.get('/api/legal/status')).status === 200;
  }

  private send(
    method: string,
    path: string,
    more: Readonly<Record<string, string>>,
    body?: string,
  ): Promise<VisitResponse> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const { host } = new URL(this.origin);
    const headers = { accept: 'application/json', ...more, host, ...(cookie !== '' && { cookie }) };
    return new Promise((resolve, reject) => {
      const clientRequest = request(new URL(path, this.world.url), { method, headers, timeout: DEADLINE_MS });
      clientRequest.on('timeout', () => clientRequest.destroy(new Error(`${path} is not answered`)));
      clientRequest.on('error', reject);
      clientRequest.on('response', (answer) => {
        for (const line of answer.headers['set-cookie'] ?? []) this.storeCookie(line);
        const pieces: Buffer[] = [];
        answer.on('data', (piece: Buffer) => pieces.push(piece));
        answer.on('error', reject);
        answer.on('end', () =>
          resolve({
            status: answer.statusCode ?? 0,
            location: answer.headers.location ?? '',
            text: Buffer.concat(pieces).toString(),
          }),
        );
      });
      clientRequest.end(body);
    });
  }

  private storeCookie(line: string): void {
    const [pair = '', ...attributes] = line.split('; ');
    const [name = '', value = ''] = [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)];
    if (attributes.includes('Max-Age=0')) this.cookies.delete(name);
    else this.cookies.set(name, value);
  }
}
