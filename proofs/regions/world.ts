import type { INestApplication } from '@nestjs/common';
import {
  CatalogueEditor,
  CatalogueService,
  CredentialEditor,
  type ModelKind,
  PriceService,
} from '../../src/catalogue';
import { Organisation, UserAccount } from '../../src/identity';
import { platformScope, parseUsdPerMillion, priceRates } from '../../src/kernel';
import { KeysService } from '../../src/keys';
import { Database, type Tx } from '../../src/platform';
import type { Chance } from '../support/chance';

export const regions = ['eu', 'us', 'ap'] as const;
export type Region = (typeof regions)[number];

export interface Site {
  readonly name: string;
  readonly region: Region;
  readonly url: string;
}

/** A name that callers may ask for, and the regions of its lanes. */
export interface Named {
  readonly name: string;
  readonly kind: ModelKind;
  readonly homes: ReadonlySet<Region>;
}

export interface WorldKey {
  readonly text: string;
  /** What key and organisation leave open together. */
  readonly allowed: ReadonlySet<Region>;
}

export interface World {
  readonly names: readonly Named[];
  readonly keys: readonly WorldKey[];
}

const everywhere: ReadonlySet<Region> = new Set(regions);
const subsets: readonly (readonly Region[])[] = [
  ['eu'],
  ['us'],
  ['ap'],
  ['eu', 'us'],
  ['eu', 'ap'],
  ['us', 'ap'],
];
const kinds: readonly [kind: ModelKind, count: number][] = [
  ['chat', 14],
  ['embedding', 5],
  ['rerank', 5],
  ['speech', 5],
];

/** Models whose lanes lie across the regions in every order, other names for them, and keys of every restriction. */
export async function buildWorld(
  application: INestApplication,
  sites: readonly Site[],
  chance: Chance,
): Promise<World> {
  const world = await application.get(Database).transaction(async (tx) => {
    await addProviders(tx, application, sites);
    const names: Named[] = [];
    for (const [kind, count] of kinds) names.push(...(await addModels(tx, kind, count, sites, chance)));
    return { names, keys: await addKeys(tx, application) };
  });
  await application.get(CatalogueService).reload();
  return world;
}

/** At every site one supplier that serves everything, and one that speaks another dialect. */
async function addProviders(tx: Tx, application: INestApplication, sites: readonly Site[]): Promise<void> {
  const editor = new CatalogueEditor();
  const credentials = application.get(CredentialEditor, { strict: false });
  for (const { name, url, region } of sites) {
    for (const [provider, style, kind] of [
      [name, 'openai-style', 'bearer'],
      [`${name}-messages`, 'messages-style', 'header'],
    ] as const) {
      const added = await editor.upsertProvider(tx, {
        name: provider,
        style,
        baseUrl: url,
        regions: [region],
      });
      await credentials.put(tx, { providerId: added.id, label: 'proof', kind, secret: 'sim-proof' });
    }
  }
}

async function addModels(
  tx: Tx,
  kind: ModelKind,
  count: number,
  sites: readonly Site[],
  chance: Chance,
): Promise<Named[]> {
  const editor = new CatalogueEditor();
  const prices = new PriceService();
  const own: Named[] = [];
  for (let place = 0; place < count; place += 1) {
    const name = `${kind}-${place}`;
    const chosen = shuffled(sites, chance).slice(0, chance.whole(1, 4));
    await editor.upsertModel(tx, { name, kind, ownedBy: 'proof' });
    await editor.setLanes(
      tx,
      name,
      chosen.map((site) => ({
        provider: kind === 'chat' && chance.flip(0.4) ? `${site.name}-messages` : site.name,
        upstreamModel: `sim-${kind}`,
        region: site.region,
        priority: chance.whole(0, 2),
      })),
    );
    const rates = priceRates({ input: parseUsdPerMillion('1'), output: parseUsdPerMillion('2') });
    await prices.addPrice(tx, { model: name, source: 'proof', rates });
    own.push({ name, kind, homes: new Set(chosen.map(({ region }) => region)) });
  }
  return addOtherNames(tx, own, chance);
}

/** Every fourth model has moved to another one, so that its own lanes no longer count; every third has an alias. */
async function addOtherNames(tx: Tx, models: readonly Named[], chance: Chance): Promise<Named[]> {
  const editor = new CatalogueEditor();
  const names: Named[] = [];
  for (const [place, model] of models.entries()) {
    const target = place % 4 === 3 ? names[chance.whole(0, place - 1)] : undefined;
    if (target !== undefined) await editor.setRedirect(tx, model.name, target.name);
    names.push({ ...model, homes: target?.homes ?? model.homes });
  }
  const aliased = names.filter((_, place) => place % 3 === 1);
  for (const { name } of aliased) await editor.addAlias(tx, `${name}-latest`, name);
  return [...names, ...aliased.map((named) => ({ ...named, name: `${named.name}-latest` }))];
}

async function addKeys(tx: Tx, application: INestApplication): Promise<WorldKey[]> {
  const service = application.get(KeysService, { strict: false });
  const keys: WorldKey[] = [];
  const houses: readonly (readonly Region[] | null)[] = [null, ...subsets];
  for (const [place, ofHouse] of houses.entries()) {
    const userId = await addMember(tx, `house-${place}`, ofHouse);
    for (const ofKey of [null, ...subsets]) {
      const { text } = await service.issue(platformScope, tx, {
        userId,
        organisationId: null,
        departmentId: null,
        projectId: null,
        kind: 'client',
        name: 'proof',
        createdBy: 'proof',
        allowedRegions: ofKey,
      });
      keys.push({ text, allowed: both(setOf(ofHouse), setOf(ofKey)) });
    }
  }
  return keys;
}

async function addMember(tx: Tx, name: string, allowed: readonly Region[] | null): Promise<number> {
  const house = tx.getRepository(Organisation).create({
    name,
    slug: name,
    allowedRegions: allowed === null ? null : [...allowed],
  });
  await tx.getRepository(Organisation).insert(house);
  const people = tx.getRepository(UserAccount);
  const user = people.create({
    email: `${name}@example.com`,
    displayName: name,
    status: 'active',
    organisationId: house.id,
    billingExempt: true,
  });
  await people.insert(user);
  return user.id;
}

const setOf = (list: readonly Region[] | null): ReadonlySet<Region> =>
  list === null ? everywhere : new Set(list);

export const both = <T>(one: ReadonlySet<T>, other: ReadonlySet<T>): ReadonlySet<T> =>
  new Set([...one].filter((member) => other.has(member)));

function shuffled<T>(list: readonly T[], chance: Chance): T[] {
  return list
    .map((item) => ({ item, place: chance.next() }))
    .sort((a, b) => a.place - b.place)
    .map(({ item }) => item);
}
