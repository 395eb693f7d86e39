import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestApp } from '../../support/app';
import { fetchPage, startPublicSite } from '../../support/public-site';

let app: TestApp;
beforeAll(async () => {
  app = await startPublicSite();
});
afterAll(() => app.close());

const MAX_PAGES = 300;

/** Pages of the contract that are not built yet. */
const pending = new Set(
  (JSON.parse(readFileSync(join(__dirname, '../../contract/pending.json'), 'utf8')) as string[])
    .filter((operation) => operation.startsWith('GET '))
    .map((operation) => operation.slice('GET '.length)),
);

const decode = (text: string): string => text.replaceAll('&amp;', '&').replaceAll('&#x3D;', '=');

/** Paths that differ only in filters or sorting count as one page. */
const pageKeyOf = (path: string): string =>
  path.replace(/\?.*/, (query) => `?${query.slice(1).replace(/=[^&]*/g, '')}`);

test('every link of a public page works, and external links are marked', async () => {
  const visitedPages = new Map<string, { ids: Set<string>; status: number }>();
  const queue = ['/'];
  const knownKeys = new Set(['/']);
  const anchors: [from: string, path: string, id: string][] = [];
  const brokenLinks: string[] = [];
  for (let path = queue.shift(); path !== undefined && visitedPages.size < MAX_PAGES; path = queue.shift()) {
    const { status, headers, text } = await fetchPage(app, path);
    visitedPages.set(path, {
      status,
      ids: new Set([...text.matchAll(/ id="([^"]+)"/g)].map(([, id = '']) => id)),
    });
    if (headers.get('content-type')?.startsWith('text/html') !== true) continue;
    for (const [, raw = '', rest = ''] of text.matchAll(/<a\b[^>]*?href="([^"]*)"([^>]*)>/g)) {
      const href = decode(raw);
      if (/^(mailto:|https:)/.test(href)) {
        if (href.startsWith('https:') && !rest.includes('noopener'))
          brokenLinks.push(`${path}: ${href} is not marked`);
        continue;
      }
      const [target = '', id] = href.split('#');
      const fullPath = target === '' ? path : target;
      if (!fullPath.startsWith('/')) brokenLinks.push(`${path}: ${href} is no address of ours`);
      if (id !== undefined) anchors.push([path, fullPath, id]);
      if (!knownKeys.has(pageKeyOf(fullPath)) && !pending.has(fullPath)) {
        knownKeys.add(pageKeyOf(fullPath));
        queue.push(fullPath);
      }
    }
  }
  for (const [path, { status }] of visitedPages)
    if (status !== 200) brokenLinks.push(`${path} answers ${status}`);
  for (const [from, path, id] of anchors) {
    const page = visitedPages.get(path);
    if (page !== undefined && !page.ids.has(id)) brokenLinks.push(`${from}: ${path} has no #${id}`);
  }
  expect(brokenLinks).toEqual([]);
  expect(visitedPages.size).toBeGreaterThan(40);
});
