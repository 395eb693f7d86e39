import type { ModelKind } from '../../src/catalogue';
import type { SeededRandom } from '../../test/system/seeded-random';
import type { ProofNode } from '../../test/system/node';
import type { InstallationDatabase } from '../../test/system/installation-database';

export const regions = ['eu', 'us', 'ap'] as const;
export type Region = (typeof regions)[number];

export interface SupplierSite {
  readonly name: string;
  readonly region: Region;
  readonly url: string;
}

/** A callable model name and the regions of its lanes. */
export interface RegionalName {
  readonly name: string;
  readonly kind: ModelKind;
  readonly homes: ReadonlySet<Region>;
}

export interface RegionKey {
  readonly text: string;
  /** Regions that key and organisation allow together. */
  readonly allowed: ReadonlySet<Region>;
}

export interface RegionWorld {
  readonly names: readonly RegionalName[];
  readonly keys: readonly RegionKey[];
}

/** Running gateway and database on which a world is built. */
export interface RegionResources {
  readonly node: Pick<ProofNode, 'apply' | 'addKey'>;
  readonly rows: InstallationDatabase;
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

/** Builds models whose lanes cover the regions in every order, aliases for them, and keys with every restriction. */
export async function buildWorld(
  { node, rows }: RegionResources,
  sites: readonly SupplierSite[],
  chance: SeededRandom,
): Promise<RegionWorld> {
  const aliases: Record<string, string> = {};
  const models: Record<string, object> = {};
  const names = kinds.flatMap(([kind, count]) => {
    const own = modelsOf(kind, count, sites, chance);
    return withOtherNames(own, chance, models, aliases);
  });
  await node.apply({ providers: providersOf(sites), models, aliases });
  return { names, keys: await addKeys({ node, rows }) };
}

/** Per site, one supplier that serves every kind and one with another dialect. */
const providersOf = (sites: readonly SupplierSite[]): Readonly<Record<string, object>> =>
  Object.fromEntries(
    sites.flatMap(({ name, url, region }) => [
      [name, { style: 'openai-style', base_url: url, regions: [region], api_key: '${SUPPLIER_KEY}' }],
      [
        `${name}-messages`,
        { style: 'messages-style', base_url: url, regions: [region], api_key: '${SUPPLIER_KEY}' },
      ],
    ]),
  );

interface PlannedModel extends RegionalName {
  readonly model: Readonly<Record<string, unknown>>;
}

function modelsOf(
  kind: ModelKind,
  count: number,
  sites: readonly SupplierSite[],
  chance: SeededRandom,
): PlannedModel[] {
  return Array.from({ length: count }, (_, index) => {
    const selectedSites = shuffle(sites, chance).slice(0, chance.integer(1, 4));
    const lanes = selectedSites.map((site) => ({
      provider: kind === 'chat' && chance.flip(0.4) ? `${site.name}-messages` : site.name,
      model: `sim-${kind}`,
      region: site.region,
      priority: chance.integer(0, 2),
    }));
    const model = { kind, owned_by: 'proof', lanes, price: { input: 1, output: 2 } };
    return {
      name: `${kind}-${index}`,
      kind,
      homes: new Set(selectedSites.map(({ region }) => region)),
      model,
    };
  });
}

/** Redirects every fourth model, so that its own lanes no longer count; every third gets an alias. */
function withOtherNames(
  planned: readonly PlannedModel[],
  chance: SeededRandom,
  models: Record<string, object>,
  aliases: Record<string, string>,
): RegionalName[] {
  const names: RegionalName[] = [];
  for (const [place, { name, kind, homes, model }] of planned.entries()) {
    const target = place % 4 === 3 ? names[chance.integer(0, place - 1)] : undefined;
    models[name] = target === undefined ? model : { ...model, redirect: target.name };
    names.push({ name, kind, homes: target?.homes ?? homes });
  }
  const aliased = names.filter((_, index) => index % 3 === 1);
  for (const { name } of aliased) aliases[`${name}-latest`] = name;
  return [...names, ...aliased.map((named) => ({ ...named, name: `${named.name}-latest` }))];
}

async function addKeys({ node, rows }: RegionResources): Promise<RegionKey[]> {
  const keys: RegionKey[] = [];
  const organisationRegions: readonly (readonly Region[] | null)[] = [null, ...subsets];
  for (const [place, ofFixture] of organisationRegions.entries()) {
    const organisationId = await rows.addOrganisation(`house-${place}`, ofFixture);
    const { id } = await rows.addUser({ organisationId, billingExempt: true });
    for (const ofKey of [null, ...subsets]) {
      const limits = ofKey === null ? {} : { allowed_regions: ofKey };
      const { text } = await node.addKey({ user_id: id, ...limits });
      keys.push({ text, allowed: intersection(setOf(ofFixture), setOf(ofKey)) });
    }
  }
  return keys;
}

const setOf = (list: readonly Region[] | null): ReadonlySet<Region> =>
  list === null ? everywhere : new Set(list);

export const intersection = <T>(one: ReadonlySet<T>, other: ReadonlySet<T>): ReadonlySet<T> =>
  new Set([...one].filter((member) => other.has(member)));

function shuffle<T>(list: readonly T[], chance: SeededRandom): T[] {
  return list
    .map((item) => ({ item, place: chance.next() }))
    .sort((a, b) => a.place - b.place)
    .map(({ item }) => item);
}
