import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { catalogue } from '#product/kernel';
import type { Settings } from '../../../src/platform';
import { LegalLibrary } from '#inside/portal/public/legal/legal-library';
import type { TestApp } from '../../support/app';
import { fetchPage, startPublicSite } from '../../support/public-site';

let app: TestApp;
const folder = mkdtempSync(join(tmpdir(), 'switchboard-legal-'));
const legal = (name: string, version: string, effective: string, language: string, text: string): void =>
  writeFileSync(
    join(folder, name),
    `---\nversion: ${version}\neffective: ${effective}\nlanguage: ${language}\n---\n${text}\n`,
  );

beforeAll(async () => {
  legal(
    'terms.md',
    '2',
    '2026-02-01',
    'en',
    '## Ours\n\nSecond version. <script>alert(1)</script> [x](javascript:alert(1))',
  );
  legal('terms.de.md', '2', '2026-02-01', 'de', '## Unsere\n\nZweite Fassung.');
  legal('terms.1.md', '1', '2025-02-01', 'en', '## Old\n\nFirst version.');
  legal('terms.3.md', '3', '2199-01-01', 'en', '## Later\n\nThird version.');
  app = await startPublicSite({
    LEGAL_FOLDER: folder,
    BASE_URL: 'http://127.0.0.1:3999',
    BRAND_NAME: 'Ring & <Co>',
    RECORD_RETENTION_MONTHS: '13',
    SECURITY_CONTACT: 'security@ring.example',
  });
});
afterAll(async () => {
  await app.close();
  rmSync(folder, { recursive: true });
});

const page = async (path: string, language = 'en'): Promise<string> => {
  const { status, headers, text } = await fetchPage(app, path, {
    accept: 'text/html',
    'accept-language': language,
  });
  expect([path, status, headers.get('content-type')]).toEqual([path, 200, 'text/html; charset=utf-8']);
  expect(text).not.toContain('{{');
  expect(text).not.toContain('<Co>');
  return text.replaceAll('&#x3D;', '=');
};

describe('Product pages', () => {
  test('link features to their evidence', async () => {
    const text = await page('/features');
    expect(text).toContain('Ring &amp; &lt;Co&gt;');
    expect(text.match(/<em>Proof:<\/em>/g)?.length).toBeGreaterThan(12);
    expect(text).toContain('href="/api-docs/errors#sovereign_route_unavailable"');
  });

  test('fill the guide with this deployment and its models', async () => {
    const text = await page('/guide');
    for (const id of [
      'python',
      'typescript',
      'claude-code',
      'codex',
      'cline',
      'librechat',
      'open-webui',
      'curl',
    ])
      expect(text).toContain(`id="${id}"`);
    expect(text).toContain('http://127.0.0.1:3999/v1');
    expect(text).toContain('ANTHROPIC_BASE_URL=&quot;http://127.0.0.1:3999&quot;\n');
    expect(text).toContain('sim-large');
    expect(text).toContain('sim-embed');
  });

  test('show the same agent settings on the start page, in the guide and in the documentation', async () => {
    const [home, guide] = [await page('/'), await page('/guide')];
    const settingsIn = (snippet: string) =>
      [...snippet.matchAll(/^(?:export )?(\w+) ?= ?(.+)$/gm)].filter(
        ([, name]) => !/TOKEN$/.test(name ?? ''),
      );
    const snippetOf = (id: string) =>
      new RegExp(`id="first-${id}".*?data-copy="([^"]*)"`, 's')
        .exec(home)?.[1]
        ?.replaceAll('&quot;', '"')
        .replaceAll('&amp;', '&') ?? '';
    const documentation = readFileSync(join(__dirname, '../../../docs/clients.md'), 'utf8');
    for (const id of ['claude-code', 'codex']) {
      const settings = settingsIn(snippetOf(id));
      expect(settings.length).toBeGreaterThan(2);
      for (const [line, name] of settings) {
        expect(guide).toContain(line.replaceAll('"', '&quot;'));
        expect(documentation).toMatch(new RegExp(`^(export )?${name} ?=`, 'm'));
      }
    }
    expect(snippetOf('claude-code')).toContain('export ANTHROPIC_DEFAULT_HAIKU_MODEL="sim-small"');
    const codex = snippetOf('codex');
    expect(codex).toContain('base_url = "http://127.0.0.1:3999/v1"\n');
    for (const line of ['web_search = "disabled"', 'wire_api = "responses"']) {
      expect(codex).toContain(line);
      expect(documentation).toContain(line);
    }
  });

  test('name the settings of this deployment on the limits and security pages', async () => {
    expect(await page('/controls')).toContain('32 MiB');
    expect(await page('/security')).toContain('for 13 months');
    expect(await page('/certifications')).toContain('no certificate');
    expect(await page('/developers')).toContain('href="/v1/openapi.json"');
  });

  test('say so when they are available in English only', async () => {
    const text = await page('/features', 'fr');
    expect(text).toContain('<h1>Fonctionnalités</h1>');
    expect(text).toContain('Ce texte n’existe qu’en anglais.');
    expect(text).toContain('lang="en"');
    expect(await page('/features')).not.toContain('available in English only');
  });

  test('serve the reference texts of the release, but not other source documents', async () => {
    const text = await page('/developers/keys');
    expect(text).toContain('<h1>Keys and rates</h1>');
    expect(text).toContain('href="/developers/money#how-much-is-set-aside"');
    expect(text).not.toMatch(/href="[^"]*\.md/);
    for (const name of ['nodes', '..%2fREADME', 'keys.md'])
      expect((await fetchPage(app, `/developers/${name}`)).status).toBe(404);
  });
});

describe('Legal texts', () => {
  const names = ['aup', 'privacy', 'cookies', 'dpa', 'refund', 'billing', 'security'];

  test.each(names)('%s is a template and says so', async (name) => {
    const text = await page(`/legal/${name}`);
    expect(text).toContain('Version template-1');
    expect(text).toContain('A template.');
  });

  // "29 `[OPERATOR: …]` placeholders on seven public legal pages".
  test.each(names)('%s shows no placeholder of the operator', async (name) => {
    const text = await page(`/legal/${name}`);
    expect(text).not.toContain('[OPERATOR');
    if (name !== 'cookies') expect(text).toContain('(not yet stated by the operator)');
  });

  test("replace the template with the operator's version in force", async () => {
    const text = await page('/legal/terms');
    expect(text).toContain('Second version.');
    expect(text).toContain('Version 2');
    expect(text).not.toContain('A template.');
    for (const version of ['1', '2', '3']) expect(text).toContain(`href="/legal/terms?version=${version}"`);
    expect(text).toContain('<time datetime="2026-02-01T00:00:00.000Z"');
  });

  test('cannot inject scripts into the page', async () => {
    const text = await page('/legal/terms');
    expect(text).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
    expect(text).not.toMatch(/<script>|javascript:/);
  });

  test("are shown in the reader's language if available", async () => {
    expect(await page('/legal/terms', 'de')).toContain('Zweite Fassung.');
    expect(await page('/legal/terms', 'it')).toContain('Second version.');
  });

  test('keep earlier versions readable', async () => {
    const text = await page('/legal/terms?version=1');
    expect(text).toContain('First version.');
    expect(text).toContain('This is not the version in force.');
    expect((await fetchPage(app, '/legal/terms?version=9')).status).toBe(404);
    expect((await fetchPage(app, '/legal/terms?version=../x')).status).toBe(422);
  });

  test('without a version prevent the start, naming the file', () => {
    const invalidFolder = mkdtempSync(join(tmpdir(), 'switchboard-legal-'));
    writeFileSync(join(invalidFolder, 'dpa.md'), '# No head');
    const settings = { legalFolder: invalidFolder } as Settings;
    expect(() => new LegalLibrary(settings)).toThrow(/dpa\.md needs a line "version:"/);
    rmSync(invalidFolder, { recursive: true });
  });
});

describe('Error codes', () => {
  test('are all listed with class, next step and their own address', async () => {
    const text = await page('/api-docs/errors');
    expect(catalogue.size).toBe(268);
    for (const [code] of catalogue) expect(text).toContain(`<tr id="${code}">`);
    expect(text).toContain('Top up the paying account');
  });

  test('are filtered by class, by words and by occurrence', async () => {
    const rows = async (query: string): Promise<number> =>
      (await page(`/api-docs/errors?${query}`)).match(/<tr id=/g)?.length ?? 0;
    expect(await rows('class=F')).toBe(
      [...catalogue.values()].filter((entry) => entry.actionClass === 'F').length,
    );
    expect(await rows('q=budget_exceeded')).toBe(1);
    expect(await rows('reach=reachable')).toBe(
      [...catalogue.values()].filter((entry) => entry.reach === 'reachable').length,
    );
    expect(await rows('q=%3Cb%3E')).toBe(0);
  });
});

describe('Well-known addresses', () => {
  const getText = async (path: string): Promise<string> => {
    const { status, text } = await fetchPage(app, path, {});
    expect([path, status]).toEqual([path, 200]);
    return text;
  };

  test('robots.txt excludes account pages and names the sitemap', async () => {
    const text = await getText('/robots.txt');
    expect(text).toContain('Disallow: /dashboard\n');
    expect(text).toContain('Sitemap: http://127.0.0.1:3999/sitemap.xml');
  });

  test('every page of the sitemap exists', async () => {
    const sitemapPaths = [
      ...(await getText('/sitemap.xml')).matchAll(/<loc>http:\/\/127\.0\.0\.1:3999([^<]*)<\/loc>/g),
    ];
    expect(sitemapPaths.length).toBeGreaterThan(25);
    for (const [, path = ''] of sitemapPaths)
      expect([path, (await fetchPage(app, path)).status]).toEqual([path, 200]);
  });

  test('security.txt names a contact and an expiry date', async () => {
    const text = await getText('/.well-known/security.txt');
    expect(text).toContain('Contact: mailto:security@ring.example\n');
    const expires = Date.parse(/^Expires: (.+)$/m.exec(text)?.[1] ?? '');
    expect(expires).toBeGreaterThan(Date.now());
    expect(expires).toBeLessThan(Date.now() + 366 * 86_400_000);
  });

  test('llms.txt names the API and the models', async () => {
    const text = await getText('/llms.txt');
    expect(text).toMatch(/^# Ring & <Co>\n/);
    expect(text).toContain('- `sim-small`: Simulated small (chat)');
    expect(text).toContain('http://127.0.0.1:3999/v1/openapi.json');
  });
});
