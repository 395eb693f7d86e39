import { request } from 'node:http';
import type { World } from '../operations/world';

export interface Seen {
  readonly status: number;
  readonly location: string;
  readonly text: string;
}

const DEADLINE_MS = 20_000;

/** A browser at one host of the portal: it keeps its cookies, and follows nothing by itself. */
export class PortalVisitor {
  readonly cookies = new Map<string, string>();

  constructor(
    private readonly world: World,
    private readonly origin: string,
  ) {}

  get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Seen> {
    return this.send('GET', path, headers);
  }

  /** As a script of a page of the same host does, unless the headers say otherwise. */
  post(path: string, body: object, headers: Readonly<Record<string, string>> = {}): Promise<Seen> {
    const usual = { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' };
    return this.send('POST', path, { ...usual, ...headers }, JSON.stringify(body));
  }

  /** The terms' status tells whether somebody is signed in here: it is the smallest thing only they may read. */
  async isIn(): Promise<boolean> {
    return (await this.get('/api/legal/status')).status === 200;
  }

  private send(
    method: string,
    path: string,
    more: Readonly<Record<string, string>>,
    body?: string,
  ): Promise<Seen> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const { host } = new URL(this.origin);
    const headers = { accept: 'application/json', ...more, host, ...(cookie !== '' && { cookie }) };
    return new Promise((resolve, reject) => {
      const asked = request(new URL(path, this.world.url), { method, headers, timeout: DEADLINE_MS });
      asked.on('timeout', () => asked.destroy(new Error(`${path} is not answered`)));
      asked.on('error', reject);
      asked.on('response', (answer) => {
        for (const line of answer.headers['set-cookie'] ?? []) this.hear(line);
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
      asked.end(body);
    });
  }

  private hear(line: string): void {
    const [pair = '', ...attributes] = line.split('; ');
    const [name = '', value = ''] = [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)];
    if (attributes.includes('Max-Age=0')) this.cookies.delete(name);
    else this.cookies.set(name, value);
  }
}
