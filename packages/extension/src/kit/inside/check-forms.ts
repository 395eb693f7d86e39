import type { ServiceResponse } from './service-process';
import { attributesOf, formsOf, type HtmlForm, tagsOf, validValues } from './html-forms';
import { type KitCheck, type Kit, Skipped } from './kit';
import { pathsOf, skipPages } from './page-paths';
import type { Tenant } from './tenants';

const ID_IN_PATH = /\/\d+(?:\/|$)/;

interface ListedRoute {
  readonly method: string;
  readonly path: string;
  readonly access: string;
}

async function routesOf(kit: Kit): Promise<readonly ListedRoute[]> {
  const service = await kit.service();
  const cookie = await service.ownerCookie();
  const { text } = await service.page('/dashboard/admin/extensions?format=json', { cookie });
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

interface LoadedPage {
  readonly path: string;
  readonly text: string;
  readonly cookie: string;
}

/** Loads the pages as a tenant, or as the platform's owner if the tenant has no access. */
async function loadPages(kit: Kit, tenant: Tenant): Promise<readonly LoadedPage[]> {
  const service = await kit.service();
  const pages: LoadedPage[] = [];
  for (const path of pathsOf(kit))
    for (const cookie of [tenant.cookie, await service.ownerCookie()]) {
      const { status, text } = await service.page(path, { cookie });
      if (status !== 200) continue;
      pages.push({ path, text, cookie });
      break;
    }
  return pages;
}

const isFailure = ({ status }: ServiceResponse): boolean => status >= 500;
const summarise = ({ status, text }: ServiceResponse): string =>
  `${status}: ${text
    .replace(/^.*<main\b/s, '<main')
    .replaceAll(/<[^>]*>|\s+/g, ' ')
    .replaceAll(/ +/g, ' ')
    .slice(0, 300)}`;

/** Submits a form as its page offers it; null if a value cannot be guessed. */
async function send(
  kit: Kit,
  page: LoadedPage,
  form: HtmlForm,
  marker: string,
): Promise<ServiceResponse | null> {
  const values = validValues(form, marker, kit.options.forms?.[form.action]);
  if (values === null) return null;
  return (await kit.service()).submit(form.action, page.cookie, { _page: page.path, ...values });
}

const extensionPath = (kit: Kit): string => `/x/${kit.definition.id}`;
let markerCount = 0;
const newMarker = (): string => `kit${(markerCount += 1)}x`;

const routesCheck: KitCheck = {
  topic: 'pages',
  name: 'no route fails, and strangers reach only those that are public',
  skip: (kit) => (kit.contributions().hasModule ? null : 'it has no routes'),
  async run(kit) {
    const service = await kit.service();
    const [tenant] = await kit.tenants();
    for (const { method, path, access } of await routesOf(kit)) {
      const address = path.replaceAll(/:\w+/g, '2147483646');
      const isKey = access === 'key';
      const responses: [who: string, answer: ServiceResponse][] =
        method === 'GET'
          ? [
              ['the owner', await service.page(address, { cookie: await service.ownerCookie() })],
              ['a tenant', await service.page(address, { cookie: tenant.cookie })],
              ['a key', await service.get(address)],
            ]
          : [
              ['the owner', await service.submit(address, await service.ownerCookie(), '{}')],
              ['a tenant', await service.submit(address, tenant.cookie, '{}')],
              ['a key', await service.post(address, isKey ? { kit_unknown: [null] } : {})],
            ];
      for (const [who, response] of responses)
        if (isFailure(response)) throw new Error(`${method} ${path} answered ${who} ${summarise(response)}`);
      if (access === 'anyone') continue;
      const anonymous =
        method === 'GET' ? await service.page(address) : await service.submit(address, '', '{}');
      if (anonymous.status < 300)
        throw new Error(`${method} ${path} answered a stranger ${summarise(anonymous)}`);
    }
  },
};

const goodFormsCheck: KitCheck = {
  topic: 'pages',
  name: 'every form takes what its page offers',
  skip: skipPages,
  async run(kit) {
    const [tenant] = await kit.tenants();
    const service = await kit.service();
    const unknown: string[] = [];
    let sent = 0;
    // Forms that change one row are loaded again once there are rows.
    for (const isAboutRow of [false, true])
      for (const page of await loadPages(kit, tenant))
        for (const form of formsOf(page.text, extensionPath(kit))) {
          if (ID_IN_PATH.test(form.action) !== isAboutRow) continue;
          const response = await send(kit, page, form, newMarker());
          if (response === null) {
            unknown.push(form.action);
            continue;
          }
          sent += 1;
          if (isFailure(response) || response.status === 422 || response.status === 400)
            throw new Error(`${form.action} on ${page.path} answered ${summarise(response)}`);
          const to = response.headers.get('location');
          if (response.status !== 303 || to === null) continue;
          const next = await service.page(to, { cookie: page.cookie });
          if (next.status !== 200)
            throw new Error(`${form.action} leads to ${to}, which answered ${next.status}`);
        }
    if (unknown.length > 0)
      throw new Skipped(`no valid values are known for ${unknown.join(', ')}; give them as \`forms\``);
    if (sent === 0) throw new Skipped('its pages show no form');
  },
};

const badFormsCheck: KitCheck = {
  topic: 'pages',
  name: 'every form refuses bad values, and fails for none',
  skip: skipPages,
  async run(kit) {
    const [tenant] = await kit.tenants();
    const service = await kit.service();
    let sent = 0;
    for (const page of await loadPages(kit, tenant))
      for (const form of formsOf(page.text, extensionPath(kit))) {
        const values = validValues(form, newMarker(), kit.options.forms?.[form.action]) ?? {};
        for (const { name, type, isRequired } of form.fields) {
          if (type === 'hidden') continue;
          for (const bad of ['', 'x'.repeat(20_000), '\u0000', '-1', "'; --", '{}']) {
            const response = await service.submit(form.action, page.cookie, {
              ...values,
              _page: page.path,
              [name]: bad,
            });
            sent += 1;
            if (isFailure(response))
              throw new Error(`${form.action} answered ${name}="${bad.slice(0, 20)}" ${summarise(response)}`);
            if (bad === '' && isRequired && response.status < 400)
              throw new Error(`${form.action} took an empty ${name}, which its page requires`);
          }
        }
      }
    if (sent === 0) throw new Skipped('its pages show no form');
  },
};

const EVENT = /^on[a-z]+$/;

const scriptsCheck: KitCheck = {
  topic: 'pages',
  name: 'no page has an inline script, an event handler or a file of another host',
  skip: skipPages,
  async run(kit) {
    const [tenant] = await kit.tenants();
    for (const { path, text } of await loadPages(kit, tenant))
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

const tenantsCheck: KitCheck = {
  topic: 'pages',
  name: 'what one organisation enters, another never sees or changes',
  skip: skipPages,
  async run(kit) {
    const service = await kit.service();
    const [ownTenant, otherTenant] = await kit.tenants();
    const marker = newMarker();
    for (const page of await loadPages(kit, ownTenant))
      for (const form of formsOf(page.text, extensionPath(kit)))
        if (page.cookie === ownTenant.cookie && !ID_IN_PATH.test(form.action))
          await send(kit, page, form, marker);
    const ownPages = await loadPages(kit, ownTenant);
    const matchingPages = ownPages.filter(
      ({ text, cookie }) => cookie === ownTenant.cookie && text.includes(marker),
    );
    const rowPaths = new Set(
      matchingPages.flatMap(({ text }) =>
        [...text.matchAll(/(?:href|action)="([^"]+)"/g)]
          .map(([, path = '']) => path)
          .filter((path) => path.startsWith(`${extensionPath(kit)}/`) && ID_IN_PATH.test(path)),
      ),
    );
    if (matchingPages.length === 0) throw new Skipped('no page shows an organisation what it entered');
    const plainPaths = (await routesOf(kit)).flatMap(({ method, path, access }) =>
      method === 'GET' && access !== 'key' && !path.includes(':') ? [path] : [],
    );
    for (const path of new Set([...pathsOf(kit), ...plainPaths, ...rowPaths])) {
      const otherPage = await service.page(path, { cookie: otherTenant.cookie });
      if (otherPage.text.includes(marker)) throw new Error(`${path} shows another organisation "${marker}"`);
    }
    for (const { text } of matchingPages)
      for (const form of formsOf(text, extensionPath(kit))) {
        if (!rowPaths.has(form.action)) continue;
        const values = validValues(form, newMarker(), kit.options.forms?.[form.action]) ?? {};
        const otherResponse = await service.submit(form.action, otherTenant.cookie, values);
        if (otherResponse.status < 400)
          throw new Error(`${form.action} was carried out for another organisation`);
      }
  },
};

export const formChecks: readonly KitCheck[] = [
  routesCheck,
  scriptsCheck,
  tenantsCheck,
  goodFormsCheck,
  badFormsCheck,
];
