import { expect, expectStatus } from '../../../operations/http';
import { newAddress } from '../../../operations/accounts';
import type { PortalUser } from '../../../operations/world';
import { row, type SpecificationRow } from '../../row';
import type { SpecificationWorld } from '../../world';
import { customer } from './billing';
import { createEvaluatedRequest, createRequest } from './dashboard';
import { createGrant, newOrganisation } from './organisations-and-promotions';
import { createTalk } from './oversight';
import {
  ADMIN,
  clientOf,
  equal,
  uniqueName,
  inHtml,
  newDepartment,
  newModel,
  okHtml,
  okJson,
  platform,
  newMember,
} from './row-helpers';

type PortalWorld = SpecificationWorld;

/** A user's page, and a text that appears because of the user's action. */
type PagePart = (world: PortalWorld) => Promise<{ readonly person: PortalUser; readonly shows: string }>;

async function createOwnKey(world: PortalWorld): Promise<{ person: PortalUser; shows: string }> {
  const person = await world.newPerson();
  const shows = uniqueName('key');
  okJson(await person.client.post('/dashboard/keys/new', { json: { name: shows } }));
  return { person, shows };
}

async function sendRequest(world: PortalWorld): Promise<{ person: PortalUser; shows: string }> {
  const { person, requestId } = await createRequest(world);
  return { person, shows: requestId };
}

const dashboard: Readonly<Record<string, readonly [what: string, part: PagePart]>> = {
  '/dashboard': ['the latest requests', sendRequest],
  '/dashboard/keys': ['the keys of the person', createOwnKey],
  '/dashboard/usage': [
    'what the person used, by model',
    async (world) => {
      const { person } = await createRequest(world);
      return { person, shows: 'sim-small' };
    },
  ],
  '/dashboard/request-log': ['each request', sendRequest],
  '/dashboard/activity': ['what happened to the account', createOwnKey],
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
      const { person, requestId } = await createEvaluatedRequest(world);
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
    const newUser = await world.newPerson();
    const other = await newUser.client.get(path, inHtml);
    if (path !== '/dashboard/models') expect(!other.text.includes(shows), 'somebody else sees it too');
  }),
);

/** An own object that an area of the administration lists, and its path. */
interface AdministrationArea {
  readonly path: string;
  readonly make: (world: PortalWorld) => Promise<string>;
  /** Who sees the entry: the platform only, everyone, or the own organisation. */
  readonly visibility: 'organisation' | 'platform' | 'everybody';
}

/** Without inputs and links, which repeat the search text. */
const shownIn = (page: string): string =>
  page.replaceAll(/<(input|a)\b[^>]*>/g, (tag) =>
    /\bq(=|&#x3D;)/.test(tag) || tag.startsWith('<input') ? '' : tag,
  );

const areas: Readonly<Record<string, AdministrationArea>> = {
  users: {
    path: 'users?q={shown}',
    make: async (world) => (await newMember(world)).email,
    visibility: 'organisation',
  },
  organisations: {
    path: 'organisations?q={shown}',
    make: async (world) => {
      const id = await newOrganisation(world);
      const [made] = await world.rows<{ slug: string }>('SELECT slug FROM organisation WHERE id = $1', [id]);
      return made?.slug ?? '';
    },
    visibility: 'platform',
  },
  departments: {
    path: 'departments',
    make: async (world) => {
      const id = await newDepartment(world, world.organisationId);
      const [made] = await world.rows<{ name: string }>('SELECT name FROM department WHERE id = $1', [id]);
      return made?.name ?? '';
    },
    visibility: 'organisation',
  },
  projects: {
    path: 'projects?q={shown}',
    make: async (world) => {
      const name = uniqueName('project');
      okJson(await (await clientOf(world, 'org_admin')).post(`${ADMIN}/projects`, { json: { name } }));
      return name;
    },
    visibility: 'organisation',
  },
  providers: {
    path: 'models?tab=providers',
    make: async (world) => {
      const name = uniqueName('provider');
      const json = {
        name,
        style: 'openai-style',
        base_url: 'https://supplier.example/v1',
        secret: 'sk-0123456789ab',
      };
      okJson(await (await platform(world)).post(`${ADMIN}/providers`, { json }));
      return name;
    },
    visibility: 'platform',
  },
  models: { path: 'models?q={shown}', make: (world) => newModel(world), visibility: 'everybody' },
  prices: { path: 'models?tab=prices&q={shown}', make: (world) => newModel(world), visibility: 'everybody' },
  aliases: {
    path: 'models?tab=aliases',
    make: async (world) => {
      const alias = uniqueName('alias');
      const json = { model: await newModel(world), alias };
      okJson(await (await platform(world)).post(`${ADMIN}/model-aliases`, { json }));
      return alias;
    },
    visibility: 'platform',
  },
  promotions: {
    path: 'promotions?q={shown}',
    make: async (world) => (await createGrant(world, `${ADMIN}/promotions`)).name,
    visibility: 'platform',
  },
  invites: {
    path: 'users/invites',
    make: async (world) => {
      const email = newAddress();
      const json = { email, role: 'user' };
      okJson(await (await clientOf(world, 'org_admin')).post(`${ADMIN}/users/invite`, { json }));
      return email;
    },
    visibility: 'organisation',
  },
  conversations: {
    path: 'conversations',
    make: async (world) => `${ADMIN}/conversations/${(await createTalk(world)).id}"`,
    visibility: 'organisation',
  },
  'audit logs': {
    path: 'audit?action=log.exported',
    make: async (world) => {
      const object = uniqueName('entry');
      await (await clientOf(world, 'org_owner')).get(`${ADMIN}/audit/export?object=${object}`);
      return object;
    },
    visibility: 'organisation',
  },
};

const administrationRows = Object.entries(areas).map(([area, { path, make, visibility: isOf }]) =>
  row('1.7', `the administration covers ${area}, scoped by role`, async (world) => {
    const name = await make(world);
    const address = `${ADMIN}/${path.replace('{shown}', encodeURIComponent(name))}`;
    okHtml(await (await platform(world)).get(address, inHtml), name);
    const foreign = shownIn((await (await world.stranger('org_admin')).client.get(address, inHtml)).text);
    equal(
      foreign.includes(name),
      isOf === 'everybody',
      'whether administrators of another organisation see it',
    );
    const own = shownIn((await (await clientOf(world, 'org_admin')).get(address, inHtml)).text);
    equal(own.includes(name), isOf !== 'platform', 'whether administrators of our organisation see it');
    expectStatus(await (await clientOf(world, 'user')).get(address, inHtml), 403);
  }),
);

/** Public pages and patterns of their subject. */
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

export const partRows: readonly SpecificationRow[] = [...dashboardRows, ...administrationRows, ...publicRows];
