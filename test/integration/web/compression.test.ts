import { get } from 'node:http';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { startPublicSite } from '../../support/public-site';
import type { TestApp } from '../../support/app';
import { decoded } from '../../support/page-forms';
import { addUser, signIn } from '../../support/users';

/** Transfer sizes of pages, and caching of their assets. */
let app: TestApp;
beforeAll(async () => {
  app = await startPublicSite();
});
afterAll(() => app.close());

const MAX_BYTES = 60 * 1024;
const decoders = { br: brotliDecompressSync, gzip: gunzipSync };

async function readEncoded(path: string, encoding: string, extraHeaders: Record<string, string> = {}) {
  const url = new URL(path, app.url);
  return new Promise<{ status: number; headers: Record<string, string | undefined>; bytes: Buffer }>(
    (resolve, reject) => {
      get(
        url,
        { headers: { accept: 'text/html', 'accept-encoding': encoding, ...extraHeaders } },
        (answer) => {
          const pieces: Buffer[] = [];
          answer.on('data', (piece: Buffer) => pieces.push(piece));
          answer.on('end', () =>
            resolve({
              status: answer.statusCode ?? 0,
              headers: answer.headers as Record<string, string | undefined>,
              bytes: Buffer.concat(pieces),
            }),
          );
        },
      ).on('error', reject);
    },
  );
}

test.each(['/', '/models-public', '/dashboard', '/dashboard/usage'])(
  '%s is compressed without changing its content',
  async (path) => {
    const cookie = await signIn(app, await addUser(app));
    const plainPage = await readEncoded(path, 'identity', { cookie });
    expect([plainPage.status, plainPage.headers['content-encoding']]).toEqual([200, undefined]);
    expect(plainPage.headers['vary']).toContain('accept-encoding');
    for (const [encoding, decode] of Object.entries(decoders)) {
      const { status, headers, bytes } = await readEncoded(path, encoding, { cookie });
      expect([status, headers['content-encoding'], headers['content-type']]).toEqual([
        200,
        encoding,
        'text/html; charset=utf-8',
      ]);
      expect(Number(headers['content-length'])).toBe(bytes.length);
      expect(bytes.length).toBeLessThan(plainPage.bytes.length / 2);
      expect(bytes.length).toBeLessThan(MAX_BYTES);
      expect(decode(bytes).toString()).toContain('</html>');
    }
    expect(
      (await readEncoded(path, 'gzip;q=0, br;q=0', { cookie })).headers['content-encoding'],
    ).toBeUndefined();
  },
);

test('a versioned asset is compressed and cached permanently; without its version it is revalidated', async () => {
  const page = (
    await readEncoded('/dashboard/usage', 'identity', { cookie: await signIn(app, await addUser(app)) })
  ).bytes.toString();
  const assets = [...page.matchAll(/(?:href|src)="(\/assets\/[^"]+)/g)].map(([, address = '']) =>
    decoded(address).replace(/#.*/, ''),
  );
  expect(assets.length).toBeGreaterThan(4);
  for (const address of new Set(assets)) {
    const { status, headers, bytes } = await readEncoded(address, 'gzip, br');
    expect([address, status, headers['cache-control']]).toEqual([
      address,
      200,
      'public, max-age=31536000, immutable',
    ]);
    if (bytes.length > 1_024) expect([address, headers['content-encoding']]).toEqual([address, 'br']);
    const [bare = ''] = address.split('?');
    for (const unversioned of [bare, `${bare}?v=of-before`]) {
      const revalidation = await readEncoded(unversioned, 'gzip');
      expect([unversioned, revalidation.status, revalidation.headers['cache-control']]).toEqual([
        unversioned,
        200,
        'no-cache',
      ]);
      expect(
        (await readEncoded(unversioned, 'gzip', { 'if-none-match': String(revalidation.headers['etag']) }))
          .status,
      ).toBe(304);
    }
  }
});
