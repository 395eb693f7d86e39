import type { ModelKind } from '../../src/catalogue';
import type { Chance } from '../../test/system/chance';
import type { ProofNode } from '../../test/system/node';
import type { Rows } from '../../test/system/rows';

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
  /** Key and organisation leave these open together. */
  readonly allowed: ReadonlySet<Region>;
}

export interface World {
  readonly names: readonly Named[];
  readonly keys: readonly WorldKey[];
}

/** A world is built on a running gateway and its database. */
export interface Ground {
  readonly node: Pick<ProofNode, 'apply' | 'addKey'>;
  readonly rows: Rows;
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
  { node, rows }: Ground,
  sites: readonly Site[],
  chance: Chance,
): Promise<World> {
  const aliases: Record<string, string> = {};
  const models: Record<string, object> = {};
  const names = kinds.flatMap(([kind, count]) => {
    const own = modelsOf(kind, count, sites, chance);
    return withOtherNames(own, chance, models, aliases);
  });
  await node.apply({ providers: providersOf(sites), models, aliases });
  return { names, keys: await addKeys({ node, rows }) };
}

/** At every site one supplier that serves everything, and one that speaks another dialect. */
const providersOf = (sites: readonly Site[]): Readonly<Record<string, object>> =>
  Object.fromEntries(
    sites.flatMap(({ name, url, region }) => [
      [name, { style: 'openai-style', base_url: url, regions: [region], api_key: '${SUPPLIER_KEY}' }],
      [
        `${name}-messages`,
        { style: 'messages-style', base_url: url, regions: [region], api_key: '${SUPPLIER_KEY}' },
      ],
    ]),
  );

interface Planned extends Named {
  readonly model: Readonly<Record<string, unknown>>;
}

function modelsOf(kind: ModelKind, count: number, sites: readonly Site[], chance: Chance): Planned[] {
  return Array.from({ length: count }, (_, place) => {
    const chosen = shuffled(sites, chance).slice(0, chance.whole(1, 4));
    const lanes = chosen.map((site) => ({
      provider: kind === 'chat' && chance.flip(0.4) ? `${site.name}-messages` : site.name,
      model: `sim-${kind}`,
      region: site.region,
      priority: chance.whole(0, 2),
    }));
    const model = { kind, owned_by: 'proof', lanes, price: { input: 1, output: 2 } };
    return { name: `${kind}-${place}`, kind, homes: new Set(chosen.map(({ region }) => region)), model };
  });
}

/** Every fourth model has moved to another one, so that its own lanes no longer count; every third has an alias. */
function withOtherNames(
  planned: readonly Planned[],
  chance: Chance,
  models: Record<string, object>,
  aliases: Record<string, string>,
): Named[] {
  const names: Named[] = [];
  for (const [place, { name, kind, homes, model }] of planned.entries()) {
    const target = place % 4 === 3 ? names[chance.whole(0, place - 1)] : undefined;
    models[name] = target === undefined ? model : { ...model, redirect: target.name };
    names.push({ name, kind, homes: target?.homes ?? homes });
  }
  const aliased = names.filter((_, place) => place % 3 === 1);
  for (const { name } of aliased) aliases[`${name}-latest`] = name;
  return [...names, ...aliased.map((named) => ({ ...named, name: `${named.name}-latest` }))];
}

async function addKeys({ node, rows }: Ground): Promise<WorldKey[]> {
  const keys: WorldKey[] = [];
  const houses: readonly (readonly Region[] | null)[] = [null, ...subsets];
  for (const [place, ofHouse] of houses.entries()) {
    const organisationId = await rows.addOrganisation(`house-${place}`, ofHouse);
    const { id } = await rows.addUser({ organisationId, billingExempt: true });
    for (const ofKey of [null, ...subsets]) {
      const limits = ofKey === null ? {} : { allowed_regions: ofKey };
      const { text } = await node.addKey({ user_id: id, ...limits });
      keys.push({ text, allowed: both(setOf(ofHouse), setOf(ofKey)) });
    }
  }
  return keys;
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
