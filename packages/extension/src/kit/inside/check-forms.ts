import type { Answer } from './house';
import { attributesOf, formsOf, type HtmlForm, tagsOf, validValues } from './html-forms';
import { type Check, type Kit, Skipped } from './kit';
import { pathsOf, skipPages } from './page-paths';
import type { Tenant } from './tenants';

const ID_IN_PATH = /\/\d+(?:\/|$)/;

interface OwnRoute {
  readonly method: string;
  readonly path: string;
  readonly access: string;
}

/** The routes of the extension, as the administration lists them. */
async function routesOf(kit: Kit): Promise<readonly OwnRoute[]> {
  const house = await kit.house();
  const cookie = await house.ownerCookie();
  const { text } = await house.page('/dashboard/admin/extensions?format=json', { cookie });
  const { extensions } = JSON.parse(text) as {
    readonly extensions: readonly {
      readonly id: string;
      readonly parts: readonly { readonly kind: string; readonly name: string; readonly access?: string }[];
    }[];
  };
  const parts = extensions.find(({ id }) => id === kit.definition.id)?.parts ?? [];
  return parts.flatMap(({ kind, name, access = '' }) => {
    const [method = '', path = ''] = name.split(' ');
    return kind === 'route' ? [{ method, path, access }] : [];
  });
}

interface ReadPage {
  readonly path: string;
  readonly text: string;
  readonly cookie: string;
}

/** The pages as a tenant sees them, or as the platform's owner if the tenant has no access. */
async function pagesFor(kit: Kit, tenant: Tenant): Promise<readonly ReadPage[]> {
  const house = await kit.house();
  const pages: ReadPage[] = [];
  for (const path of pathsOf(kit))
    for (const cookie of [tenant.cookie, await house.ownerCookie()]) {
      const { status, text } = await house.page(path, { cookie });
      if (status !== 200) continue;
      pages.push({ path, text, cookie });
      break;
    }
  return pages;
}

const isFailure = ({ status }: Answer): boolean => status >= 500;
/** The status, and the words of the page or of the error. */
const shortened = ({ status, text }: Answer): string =>
  `${status}: ${text
    .replace(/^.*<main\b/s, '<main')
    .replaceAll(/<[^>]*>|\s+/g, ' ')
    .replaceAll(/ +/g, ' ')
    .slice(0, 300)}`;

/** Sends a form as its page offers it; null if a value cannot be guessed. */
async function send(kit: Kit, page: ReadPage, form: HtmlForm, marker: string): Promise<Answer | null> {
  const values = validValues(form, marker, kit.options.forms?.[form.action]);
  if (values === null) return null;
  return (await kit.house()).submit(form.action, page.cookie, { _page: page.path, ...values });
}

const belowOf = (kit: Kit): string => `/x/${kit.definition.id}`;
let markers = 0;
const newMarker = (): string => `kit${(markers += 1)}x`;

const routesCheck: Check = {
  topic: 'pages',
  name: 'no route fails, and strangers reach only those that are public',
  skip: (kit) => (kit.facts().hasModule ? null : 'it has no routes'),
  async run(kit) {
    const house = await kit.house();
    const [tenant] = await kit.tenants();
    for (const { method, path, access } of await routesOf(kit)) {
      const address = path.replaceAll(/:\w+/g, '2147483646');
      const isKey = access === 'key';
      const answers: [who: string, answer: Answer][] =
        method === 'GET'
          ? [
              ['the owner', await house.page(address, { cookie: await house.ownerCookie() })],
              ['a tenant', await house.page(address, { cookie: tenant.cookie })],
              ['a key', await house.get(address)],
            ]
          : [
              ['the owner', await house.submit(address, await house.ownerCookie(), '{}')],
              ['a tenant', await house.submit(address, tenant.cookie, '{}')],
              ['a key', await house.post(address, isKey ? { kit_unknown: [null] } : {})],
            ];
      for (const [who, answer] of answers)
        if (isFailure(answer)) throw new Error(`${method} ${path} answered ${who} ${shortened(answer)}`);
      if (access === 'anyone') continue;
      const stranger = method === 'GET' ? await house.page(address) : await house.submit(address, '', '{}');
      if (stranger.status < 300)
        throw new Error(`${method} ${path} answered a stranger ${shortened(stranger)}`);
    }
  },
};

const goodFormsCheck: Check = {
  topic: 'pages',
  name: 'every form takes what its page offers',
  skip: skipPages,
  async run(kit) {
    const [tenant] = await kit.tenants();
    const house = await kit.house();
    const unknown: string[] = [];
    let sent = 0;
    // Forms that change one row are read again, once there are rows.
    for (const isAboutRow of [false, true])
      for (const page of await pagesFor(kit, tenant))
        for (const form of formsOf(page.text, belowOf(kit))) {
          if (ID_IN_PATH.test(form.action) !== isAboutRow) continue;
          const answer = await send(kit, page, form, newMarker());
          if (answer === null) {
            unknown.push(form.action);
            continue;
          }
          sent += 1;
          if (isFailure(answer) || answer.status === 422 || answer.status === 400)
            throw new Error(`${form.action} on ${page.path} answered ${shortened(answer)}`);
          const to = answer.headers.get('location');
          if (answer.status !== 303 || to === null) continue;
          const next = await house.page(to, { cookie: page.cookie });
          if (next.status !== 200)
            throw new Error(`${form.action} leads to ${to}, which answered ${next.status}`);
        }
    if (unknown.length > 0)
      throw new Skipped(`no valid values are known for ${unknown.join(', ')}; give them as \`forms\``);
    if (sent === 0) throw new Skipped('its pages show no form');
  },
};

const badFormsCheck: Check = {
  topic: 'pages',
  name: 'every form refuses bad values, and fails for none',
  skip: skipPages,
  async run(kit) {
    const [tenant] = await kit.tenants();
    const house = await kit.house();
    let sent = 0;
    for (const page of await pagesFor(kit, tenant))
      for (const form of formsOf(page.text, belowOf(kit))) {
        const values = validValues(form, newMarker(), kit.options.forms?.[form.action]) ?? {};
        for (const { name, type, isRequired } of form.fields) {
          if (type === 'hidden') continue;
          for (const bad of ['', 'x'.repeat(20_000), '\u0000', '-1', "'; --", '{}']) {
            const answer = await house.submit(form.action, page.cookie, {
              ...values,
              _page: page.path,
              [name]: bad,
            });
            sent += 1;
            if (isFailure(answer))
              throw new Error(`${form.action} answered ${name}="${bad.slice(0, 20)}" ${shortened(answer)}`);
            if (bad === '' && isRequired && answer.status < 400)
              throw new Error(`${form.action} took an empty ${name}, which its page requires`);
          }
        }
      }
    if (sent === 0) throw new Skipped('its pages show no form');
  },
};

/** Attributes in which a browser runs text. */
const EVENT = /^on[a-z]+$/;

const scriptsCheck: Check = {
  topic: 'pages',
  name: 'no page has an inline script, an event handler or a file of another host',
  skip: skipPages,
  async run(kit) {
    const [tenant] = await kit.tenants();
    for (const { path, text } of await pagesFor(kit, tenant))
      for (const { name, tag } of tagsOf(text)) {
        const attributes = attributesOf(tag.slice(1 + name.length));
        const { src, href, action } = attributes;
        const event = Object.keys(attributes).find((each) => EVENT.test(each));
        if (event !== undefined)
          throw new Error(`${path} has ${event} in ${tag}, which browsers do not run here`);
        if (name === 'script' && src === undefined && (attributes['type'] ?? '').includes('json') === false)
          throw new Error(`${path} has an inline script, which browsers do not run here`);
        if (name === 'style' || attributes['style'] !== undefined)
          throw new Error(`${path} has an inline style in ${tag}, which browsers do not apply here`);
        if ([src, href, action].some((each) => /^\s*javascript:/i.test(each ?? '')))
          throw new Error(`${path} has an address with a script: ${tag}`);
        const isLoaded = ['script', 'img', 'iframe', 'link', 'source', 'audio', 'video', 'embed'].includes(
          name,
        );
        if (isLoaded && /^(?:https?:)?\/\//i.test(src ?? (name === 'link' ? href : '') ?? ''))
          throw new Error(`${path} loads a file of another host: ${tag}`);
      }
  },
};

const tenantsCheck: Check = {
  topic: 'pages',
  name: 'what one organisation enters, another never sees or changes',
  skip: skipPages,
  async run(kit) {
    const house = await kit.house();
    const [own, other] = await kit.tenants();
    const marker = newMarker();
    for (const page of await pagesFor(kit, own))
      for (const form of formsOf(page.text, belowOf(kit)))
        if (page.cookie === own.cookie && !ID_IN_PATH.test(form.action)) await send(kit, page, form, marker);
    const entered = await pagesFor(kit, own);
    const shown = entered.filter(({ text, cookie }) => cookie === own.cookie && text.includes(marker));
    const rowPaths = new Set(
      shown.flatMap(({ text }) =>
        [...text.matchAll(/(?:href|action)="([^"]+)"/g)]
          .map(([, path = '']) => path)
          .filter((path) => path.startsWith(`${belowOf(kit)}/`) && ID_IN_PATH.test(path)),
      ),
    );
    if (shown.length === 0) throw new Skipped('no page shows an organisation what it entered');
    const plainPaths = (await routesOf(kit)).flatMap(({ method, path, access }) =>
      method === 'GET' && access !== 'key' && !path.includes(':') ? [path] : [],
    );
    for (const path of new Set([...pathsOf(kit), ...plainPaths, ...rowPaths])) {
      const foreign = await house.page(path, { cookie: other.cookie });
      if (foreign.text.includes(marker)) throw new Error(`${path} shows another organisation "${marker}"`);
    }
    for (const { text } of shown)
      for (const form of formsOf(text, belowOf(kit))) {
        if (!rowPaths.has(form.action)) continue;
        const values = validValues(form, newMarker(), kit.options.forms?.[form.action]) ?? {};
        const foreign = await house.submit(form.action, other.cookie, values);
        if (foreign.status < 400) throw new Error(`${form.action} was carried out for another organisation`);
      }
  },
};

export const formChecks: readonly Check[] = [
  routesCheck,
  scriptsCheck,
  tenantsCheck,
  goodFormsCheck,
  badFormsCheck,
];
