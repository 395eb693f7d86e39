import { get } from 'node:http';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { startPublicSite } from '../../support/public-site';
import type { TestApp } from '../../support/app';
import { decoded } from '../../support/page-forms';
import { addUser, signIn } from '../../support/people';

/** These tests measure what a page weighs on its way, and what a browser asks for a second time. */
let app: TestApp;
beforeAll(async () => {
  app = await startPublicSite();
});
afterAll(() => app.close());

const MOST_BYTES = 60 * 1024;
const decoders = { br: brotliDecompressSync, gzip: gunzipSync };

async function read(path: string, encoding: string, more: Record<string, string> = {}) {
  const url = new URL(path, app.url);
  return new Promise<{ status: number; headers: Record<string, string | undefined>; bytes: Buffer }>(
    (resolve, reject) => {
      get(url, { headers: { accept: 'text/html', 'accept-encoding': encoding, ...more } }, (answer) => {
        const pieces: Buffer[] = [];
        answer.on('data', (piece: Buffer) => pieces.push(piece));
        answer.on('end', () =>
          resolve({
            status: answer.statusCode ?? 0,
            headers: answer.headers as Record<string, string | undefined>,
            bytes: Buffer.concat(pieces),
          }),
        );
      }).on('error', reject);
    },
  );
}

test.each(['/', '/models-public', '/dashboard', '/dashboard/usage'])(
  '%s is sent compressed, and means the same',
  async (path) => {
    const cookie = await signIn(app, await addUser(app));
    const plain = await read(path, 'identity', { cookie });
    expect([plain.status, plain.headers['content-encoding']]).toEqual([200, undefined]);
    expect(plain.headers['vary']).toContain('accept-encoding');
    for (const [encoding, decode] of Object.entries(decoders)) {
      const { status, headers, bytes } = await read(path, encoding, { cookie });
      expect([status, headers['content-encoding'], headers['content-type']]).toEqual([
        200,
        encoding,
        'text/html; charset=utf-8',
      ]);
      expect(Number(headers['content-length'])).toBe(bytes.length);
      expect(bytes.length).toBeLessThan(plain.bytes.length / 2);
      expect(bytes.length).toBeLessThan(MOST_BYTES);
      expect(decode(bytes).toString()).toContain('</html>');
    }
    expect((await read(path, 'gzip;q=0, br;q=0', { cookie })).headers['content-encoding']).toBeUndefined();
  },
);

test('every asset of a page is compressed and asked for once; without its version it is asked for again', async () => {
  const page = (
    await read('/dashboard/usage', 'identity', { cookie: await signIn(app, await addUser(app)) })
  ).bytes.toString();
  const assets = [...page.matchAll(/(?:href|src)="(\/assets\/[^"]+)/g)].map(([, address = '']) =>
    decoded(address).replace(/#.*/, ''),
  );
  expect(assets.length).toBeGreaterThan(4);
  for (const address of new Set(assets)) {
    const { status, headers, bytes } = await read(address, 'gzip, br');
    expect([address, status, headers['cache-control']]).toEqual([
      address,
      200,
      'public, max-age=31536000, immutable',
    ]);
    if (bytes.length > 1_024) expect([address, headers['content-encoding']]).toEqual([address, 'br']);
    const [bare = ''] = address.split('?');
    for (const other of [bare, `${bare}?v=of-before`]) {
      const again = await read(other, 'gzip');
      expect([other, again.status, again.headers['cache-control']]).toEqual([other, 200, 'no-cache']);
      expect((await read(other, 'gzip', { 'if-none-match': String(again.headers['etag']) })).status).toBe(
        304,
      );
    }
  }
});
