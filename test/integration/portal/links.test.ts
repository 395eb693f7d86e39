import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestApp } from '../../support/app';
import { readPage, startPublicSite } from '../../support/public-site';

let app: TestApp;
beforeAll(async () => {
  app = await startPublicSite();
});
afterAll(() => app.close());

const MOST_PAGES = 300;

/** Pages that the contract lists and that are yet to be built. */
const pending = new Set(
  (JSON.parse(readFileSync(join(__dirname, '../../contract/pending.json'), 'utf8')) as string[])
    .filter((operation) => operation.startsWith('GET '))
    .map((operation) => operation.slice('GET '.length)),
);

const decode = (text: string): string => text.replaceAll('&amp;', '&').replaceAll('&#x3D;', '=');

/** Filters and sorting make endless addresses of one page: one of each is enough. */
const keyOf = (path: string): string =>
  path.replace(/\?.*/, (query) => `?${query.slice(1).replace(/=[^&]*/g, '')}`);

test('no link of a public page leads nowhere, and none leaves this host unmarked', async () => {
  const seen = new Map<string, { ids: Set<string>; status: number }>();
  const queue = ['/'];
  const known = new Set(['/']);
  const anchors: [from: string, path: string, id: string][] = [];
  const faults: string[] = [];
  for (let path = queue.shift(); path !== undefined && seen.size < MOST_PAGES; path = queue.shift()) {
    const { status, headers, text } = await readPage(app, path);
    seen.set(path, { status, ids: new Set([...text.matchAll(/ id="([^"]+)"/g)].map(([, id = '']) => id)) });
    if (headers.get('content-type')?.startsWith('text/html') !== true) continue;
    for (const [, raw = '', rest = ''] of text.matchAll(/<a\b[^>]*?href="([^"]*)"([^>]*)>/g)) {
      const href = decode(raw);
      if (/^(mailto:|https:)/.test(href)) {
        if (href.startsWith('https:') && !rest.includes('noopener'))
          faults.push(`${path}: ${href} is not marked`);
        continue;
      }
      const [target = '', id] = href.split('#');
      const full = target === '' ? path : target;
      if (!full.startsWith('/')) faults.push(`${path}: ${href} is no address of ours`);
      if (id !== undefined) anchors.push([path, full, id]);
      if (!known.has(keyOf(full)) && !pending.has(full)) {
        known.add(keyOf(full));
        queue.push(full);
      }
    }
  }
  for (const [path, { status }] of seen) if (status !== 200) faults.push(`${path} answers ${status}`);
  for (const [from, path, id] of anchors) {
    const page = seen.get(path);
    if (page !== undefined && !page.ids.has(id)) faults.push(`${from}: ${path} has no #${id}`);
  }
  expect(faults).toEqual([]);
  expect(seen.size).toBeGreaterThan(40);
});
