import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { House } from './house';
import { type Check, type Kit, Skipped } from './kit';
import { pathsOf, skipPages } from './page-paths';
import { productIn } from './product';

const languages = ['en', 'de', 'fr', 'it', 'es'] as const;
const CHROMIUM = '/usr/bin/chromium';

async function pagesOf(kit: Kit): Promise<{ house: House; pages: readonly string[]; cookie: string }> {
  const house = await kit.house();
  return { house, pages: pathsOf(kit), cookie: await house.ownerCookie() };
}

function keysOf(messages: object, path = ''): string[] {
  return Object.entries(messages).flatMap(([name, value]: [string, unknown]) =>
    typeof value === 'object' && value !== null ? keysOf(value, `${path}${name}.`) : [path + name],
  );
}

/** Languages differ in their plural forms. */
const withoutPlural = (key: string): string => key.replace(/_(?:zero|one|two|few|many|other)$/, '');

const shownCheck: Check = {
  topic: 'pages',
  name: 'every page is shown in five languages, without a text that is missing',
  skip: skipPages,
  async run(kit) {
    const { house, pages, cookie } = await pagesOf(kit);
    for (const page of pages)
      for (const language of languages) {
        const { status, text } = await house.page(page, { cookie, 'accept-language': language });
        if (status !== 200) throw new Error(`${page} was answered ${status} in ${language}`);
        const [missing] = new RegExp(`\\bext\\.${kit.definition.id}\\.[\\w.]+`).exec(text) ?? [];
        if (missing !== undefined) throw new Error(`${page} shows ${missing} in ${language}`);
      }
  },
};

const accessCheck: Check = {
  topic: 'pages',
  name: 'nobody who is not signed in sees a page of the navigation',
  skip: skipPages,
  async run(kit) {
    const { house, pages } = await pagesOf(kit);
    const own = new Set(kit.definition.navigation.map(({ href }) => href));
    for (const page of pages.filter((each) => own.has(each))) {
      const { status } = await house.page(page);
      if (status < 300) throw new Error(`${page} was answered ${status} to a stranger`);
      const forged = await house.page(page, { cookie: 'svc_session=forged' });
      if (forged.status < 300) throw new Error(`${page} was answered ${forged.status} to a forged session`);
    }
  },
};

const messagesCheck: Check = {
  topic: 'texts',
  name: 'five languages have the same texts',
  skip: (kit) => (kit.definition.messages === null ? 'it has no messages' : null),
  async run(kit) {
    const messages = kit.definition.messages ?? '';
    // The folder is that which lies beside the entry, or beside the package.
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
      const other = read(language);
      const differing = [
        ...[...english].filter((key) => !other.has(key)),
        ...[...other].filter((key) => !english.has(key)),
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

/** The packages that the service is developed with; null where one is missing. */
function developmentPackages(product: string): { playwright: Launcher; axe: string } | null {
  const find = createRequire(join(product, 'package.json'));
  try {
    if (!existsSync(CHROMIUM)) return null;
    const axe = readFileSync(find.resolve('axe-core'), 'utf8');
    return { playwright: find('playwright-core') as Launcher, axe };
  } catch {
    return null;
  }
}

const axeCheck: Check = {
  topic: 'pages',
  name: 'axe finds nothing to complain of',
  skip(kit) {
    const skipped = skipPages(kit);
    if (skipped !== null) return skipped;
    const missing = `it needs ${CHROMIUM}, and playwright-core and axe-core beside the service`;
    return developmentPackages(productIn(kit.options.product)) === null ? missing : null;
  },
  async run(kit) {
    const { house, pages, cookie } = await pagesOf(kit);
    const found = developmentPackages(productIn(kit.options.product));
    if (found === null) throw new Skipped('the packages are gone');
    const { playwright, axe } = found;
    const browser = await playwright.chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
    try {
      const context = await browser.newContext({ bypassCSP: true });
      const [name = '', value = ''] = cookie.split('=');
      await context.addCookies([{ name, value, url: house.url }]);
      const tab = await context.newPage();
      for (const page of pages) {
        await tab.goto(house.url + page);
        await tab.evaluate(axe);
        const found = await tab.evaluate<string[]>(
          'axe.run().then(({ violations }) => violations.map(({ help }) => help))',
        );
        if (found.length > 0) throw new Error(`${page}: ${found.join('; ')}`);
      }
    } finally {
      await browser.close();
    }
  },
};

export const pageChecks: readonly Check[] = [shownCheck, accessCheck, messagesCheck, axeCheck];
