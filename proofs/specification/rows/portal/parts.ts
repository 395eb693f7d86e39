import { expect, expectStatus } from '../../../operations/http';
import { newAddress } from '../../../operations/accounts';
import type { Person } from '../../../operations/world';
import { row, type Row } from '../../row';
import type { SpecificationWorld } from '../../world';
import { customer } from './billing';
import { judged, requested } from './dashboard';
import { granted, newOrganisation } from './places';
import { talked } from './oversight';
import {
  ADMIN,
  clientOf,
  equal,
  fresh,
  inHtml,
  newDepartment,
  newModel,
  okHtml,
  okJson,
  platform,
  subject,
} from './steps';

type World = SpecificationWorld;

/** A page of somebody, and a text that it shows because of what that person did. */
type Part = (world: World) => Promise<{ readonly person: Person; readonly shows: string }>;

async function keyed(world: World): Promise<{ person: Person; shows: string }> {
  const person = await world.newPerson();
  const shows = fresh('key');
  okJson(await person.client.post('/dashboard/keys/new', { json: { name: shows } }));
  return { person, shows };
}

async function sent(world: World): Promise<{ person: Person; shows: string }> {
  const { person, requestId } = await requested(world);
  return { person, shows: requestId };
}

const dashboard: Readonly<Record<string, readonly [what: string, part: Part]>> = {
  '/dashboard': ['the latest requests', sent],
  '/dashboard/keys': ['the keys of the person', keyed],
  '/dashboard/usage': [
    'what the person used, by model',
    async (world) => {
      const { person } = await requested(world);
      return { person, shows: 'sim-small' };
    },
  ],
  '/dashboard/request-log': ['each request', sent],
  '/dashboard/activity': ['what happened to the account', keyed],
  '/dashboard/models': [
    'the models that can be called',
    async (world) => ({ person: await world.newPerson(), shows: await newModel(world) }),
  ],
  '/dashboard/autorouter': [
    'the settings of automatic choice',
    async (world) => {
      const person = await world.newPerson();
      okJson(await person.client.post('/dashboard/autorouter/user', { json: { mode: 'on', dial: 9 } }));
      return { person, shows: 'value="9" selected' };
    },
  ],
  '/dashboard/qualitative': [
    'the reports about answers',
    async (world) => {
      const { person, requestId } = await judged(world);
      return { person, shows: requestId };
    },
  ],
  '/dashboard/billing': ['the wallet', async (world) => ({ person: await customer(world), shows: '$25.00' })],
  '/dashboard/settings': [
    'the account',
    async (world) => {
      const person = await world.newPerson();
      return { person, shows: person.email };
    },
  ],
};

const dashboardRows = Object.entries(dashboard).map(([path, [what, part]]) =>
  row('1.7', `the dashboard has \`${path}\`, which shows ${what}`, async (world) => {
    const { person, shows } = await part(world);
    okHtml(await person.client.get(path, inHtml), shows);
    const nobody = await world.newPerson();
    const other = await nobody.client.get(path, inHtml);
    if (path !== '/dashboard/models') expect(!other.text.includes(shows), 'somebody else sees it too');
  }),
);

/** Something of ours that an area of the administration lists, and where. */
interface Area {
  readonly path: string;
  readonly make: (world: World) => Promise<string>;
  /** Administrators of organisations see the area of the platform, of everybody, or what is of their own. */
  readonly isOf: 'organisation' | 'platform' | 'everybody';
}

/** Without fields and links, which repeat what was searched for. */
const shownIn = (page: string): string =>
  page.replaceAll(/<(input|a)\b[^>]*>/g, (tag) =>
    /\bq(=|&#x3D;)/.test(tag) || tag.startsWith('<input') ? '' : tag,
  );

const areas: Readonly<Record<string, Area>> = {
  users: {
    path: 'users?q={shown}',
    make: async (world) => (await subject(world)).email,
    isOf: 'organisation',
  },
  organisations: {
    path: 'organisations?q={shown}',
    make: async (world) => {
      const id = await newOrganisation(world);
      const [made] = await world.rows<{ slug: string }>('SELECT slug FROM organisation WHERE id = $1', [id]);
      return made?.slug ?? '';
    },
    isOf: 'platform',
  },
  departments: {
    path: 'departments',
    make: async (world) => {
      const id = await newDepartment(world, world.organisationId);
      const [made] = await world.rows<{ name: string }>('SELECT name FROM department WHERE id = $1', [id]);
      return made?.name ?? '';
    },
    isOf: 'organisation',
  },
  projects: {
    path: 'projects?q={shown}',
    make: async (world) => {
      const name = fresh('project');
      okJson(await (await clientOf(world, 'org_admin')).post(`${ADMIN}/projects`, { json: { name } }));
      return name;
    },
    isOf: 'organisation',
  },
  providers: {
    path: 'models?tab=providers',
    make: async (world) => {
      const name = fresh('provider');
      const json = {
        name,
        style: 'openai-style',
        base_url: 'https://supplier.example/v1',
        secret: 'sk-0123456789ab',
      };
      okJson(await (await platform(world)).post(`${ADMIN}/providers`, { json }));
      return name;
    },
    isOf: 'platform',
  },
  models: { path: 'models?q={shown}', make: (world) => newModel(world), isOf: 'everybody' },
  prices: { path: 'models?tab=prices&q={shown}', make: (world) => newModel(world), isOf: 'everybody' },
  aliases: {
    path: 'models?tab=aliases',
    make: async (world) => {
      const alias = fresh('alias');
      const json = { model: await newModel(world), alias };
      okJson(await (await platform(world)).post(`${ADMIN}/model-aliases`, { json }));
      return alias;
    },
    isOf: 'platform',
  },
  promotions: {
    path: 'promotions?q={shown}',
    make: async (world) => (await granted(world, `${ADMIN}/promotions`)).name,
    isOf: 'platform',
  },
  invites: {
    path: 'users/invites',
    make: async (world) => {
      const email = newAddress();
      const json = { email, role: 'user' };
      okJson(await (await clientOf(world, 'org_admin')).post(`${ADMIN}/users/invite`, { json }));
      return email;
    },
    isOf: 'organisation',
  },
  conversations: {
    path: 'conversations',
    make: async (world) => `${ADMIN}/conversations/${(await talked(world)).id}"`,
    isOf: 'organisation',
  },
  'audit logs': {
    path: 'audit?action=log.exported',
    make: async (world) => {
      const object = fresh('entry');
      await (await clientOf(world, 'org_owner')).get(`${ADMIN}/audit/export?object=${object}`);
      return object;
    },
    isOf: 'organisation',
  },
};

const administrationRows = Object.entries(areas).map(([area, { path, make, isOf }]) =>
  row('1.7', `the administration covers ${area}, scoped by role`, async (world) => {
    const shown = await make(world);
    const address = `${ADMIN}/${path.replace('{shown}', encodeURIComponent(shown))}`;
    okHtml(await (await platform(world)).get(address, inHtml), shown);
    const foreign = shownIn((await (await world.stranger('org_admin')).client.get(address, inHtml)).text);
    equal(
      foreign.includes(shown),
      isOf === 'everybody',
      'whether administrators of another organisation see it',
    );
    const own = shownIn((await (await clientOf(world, 'org_admin')).get(address, inHtml)).text);
    equal(own.includes(shown), isOf !== 'platform', 'whether administrators of our organisation see it');
    expectStatus(await (await clientOf(world, 'user')).get(address, inHtml), 403);
  }),
);

/** Public pages, and what each is about. */
const publicPages: Readonly<Record<string, readonly RegExp[]>> = {
  '/login': [/action="\/auth\/login"/, /name="email"/, /name="password"/],
  '/signup': [/action="\/auth\/register"/, /name="email"/, /name="password"/, /name="terms"/],
  '/legal/terms': [/<h1[^>]*>[^<]*terms/i, /<article/],
  '/legal/privacy': [/<h1[^>]*>[^<]*privacy/i, /<article/],
  '/pricing': [/\$\d/, /tokens/i],
  '/features': [/failover/i, /budget/i, /region/i],
  '/api-docs': [/\/v1\/chat\/completions/, /\/v1\/messages/, /\/v1\/embeddings/],
};

const publicRows = Object.entries(publicPages).map(([path, texts]) =>
  row('1.8', `\`${path}\` is a page about its subject that needs no session`, async (world) => {
    const page = okHtml(await world.anonymous.get(path, inHtml));
    for (const text of texts) expect(text.test(page), `the page has nothing like ${String(text)}`);
  }),
);

export const partRows: readonly Row[] = [...dashboardRows, ...administrationRows, ...publicRows];
