import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { ServiceProcess } from './service-process';
import { type KitCheck, type Kit, Skipped } from './kit';
import { pathsOf, skipPages } from './page-paths';
import { findProduct } from './product';

const languages = ['en', 'de', 'fr', 'it', 'es'] as const;
const CHROMIUM = '/usr/bin/chromium';

async function loadContext(
  kit: Kit,
): Promise<{ service: ServiceProcess; pages: readonly string[]; cookie: string }> {
  const service = await kit.service();
  return { service, pages: pathsOf(kit), cookie: await service.ownerCookie() };
}

function keysOf(messages: object, path = ''): string[] {
  return Object.entries(messages).flatMap(([name, value]: [string, unknown]) =>
    typeof value === 'object' && value !== null ? keysOf(value, `${path}${name}.`) : [path + name],
  );
}

const withoutPlural = (key: string): string => key.replace(/_(?:zero|one|two|few|many|other)$/, '');

const languageCheck: KitCheck = {
  topic: 'pages',
  name: 'every page is shown in five languages, without a text that is missing',
  skip: skipPages,
  async run(kit) {
    const { service, pages, cookie } = await loadContext(kit);
    for (const page of pages)
      for (const language of languages) {
        const { status, text } = await service.page(page, { cookie, 'accept-language': language });
        if (status !== 200) throw new Error(`${page} was answered ${status} in ${language}`);
        const [missing] = new RegExp(`\\bext\\.${kit.definition.id}\\.[\\w.]+`).exec(text) ?? [];
        if (missing !== undefined) throw new Error(`${page} shows ${missing} in ${language}`);
      }
  },
};

const accessCheck: KitCheck = {
  topic: 'pages',
  name: 'nobody who is not signed in sees a page of the navigation',
  skip: skipPages,
  async run(kit) {
    const { service, pages } = await loadContext(kit);
    const navigationPaths = new Set(kit.definition.navigation.map(({ href }) => href));
    for (const page of pages.filter((each) => navigationPaths.has(each))) {
      const { status } = await service.page(page);
      if (status < 300) throw new Error(`${page} was answered ${status} to a stranger`);
      const forged = await service.page(page, { cookie: 'svc_session=forged' });
      if (forged.status < 300) throw new Error(`${page} was answered ${forged.status} to a forged session`);
    }
  },
};

const messagesCheck: KitCheck = {
  topic: 'texts',
  name: 'five languages have the same texts',
  skip: (kit) => (kit.definition.messages === null ? 'it has no messages' : null),
  async run(kit) {
    const messages = kit.definition.messages ?? '';
    // The folder is next to the entry file, or next to the package.
    const entry = dirname(kit.extension.entry);
    const folder = [dirname(kit.extension.wrapper), entry]
      .map((each) => join(each, messages))
      .find(existsSync);
    if (folder === undefined) throw new Error(`there is no folder ${messages}`);
    const read = (language: string): Set<string> =>
      new Set(
        keysOf(JSON.parse(readFileSync(join(folder, `${language}.json`), 'utf8')) as object).map(
          withoutPlural,
        ),
      );
    const english = read('en');
    for (const language of languages) {
      const keys = read(language);
      const differing = [
        ...[...english].filter((key) => !keys.has(key)),
        ...[...keys].filter((key) => !english.has(key)),
      ];
      if (differing.length > 0) throw new Error(`${language} and en differ in ${differing.join(', ')}`);
    }
    return Promise.resolve();
  },
};

interface Browser {
  newContext(options: object): Promise<{
    addCookies(cookies: readonly object[]): Promise<void>;
    newPage(): Promise<{
      goto(url: string): Promise<unknown>;
      evaluate<Result>(program: string): Promise<Result>;
    }>;
  }>;
  close(): Promise<void>;
}
interface Launcher {
  readonly chromium: { launch(options: object): Promise<Browser> };
}

/** Returns the development packages of the service; null if one is missing. */
function developmentPackages(product: string): { playwright: Launcher; axe: string } | null {
  const requireFromProduct = createRequire(join(product, 'package.json'));
  try {
    if (!existsSync(CHROMIUM)) return null;
    const axe = readFileSync(requireFromProduct.resolve('axe-core'), 'utf8');
    return { playwright: requireFromProduct('playwright-core') as Launcher, axe };
  } catch {
    return null;
  }
}

const axeCheck: KitCheck = {
  topic: 'pages',
  name: 'axe finds nothing to complain of',
  skip(kit) {
    const skipped = skipPages(kit);
    if (skipped !== null) return skipped;
    const missing = `it needs ${CHROMIUM}, and playwright-core and axe-core beside the service`;
    return developmentPackages(findProduct(kit.options.product)) === null ? missing : null;
  },
  async run(kit) {
    const { service, pages, cookie } = await loadContext(kit);
    const packages = developmentPackages(findProduct(kit.options.product));
    if (packages === null) throw new Skipped('the packages are gone');
    const { playwright, axe } = packages;
    const browser = await playwright.chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
    try {
      const context = await browser.newContext({ bypassCSP: true });
      const [name = '', value = ''] = cookie.split('=');
      await context.addCookies([{ name, value, url: service.url }]);
      const tab = await context.newPage();
      for (const page of pages) {
        await tab.goto(service.url + page);
        await tab.evaluate(axe);
        const violations = await tab.evaluate<string[]>(
          'axe.run().then(({ violations }) => violations.map(({ help }) => help))',
        );
        if (violations.length > 0) throw new Error(`${page}: ${violations.join('; ')}`);
      }
    } finally {
      await browser.close();
    }
  },
};

export const pageChecks: readonly KitCheck[] = [languageCheck, accessCheck, messagesCheck, axeCheck];
