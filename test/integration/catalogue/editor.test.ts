import { ensureSandbox } from '#product/catalogue';
import { costOf, usageOf } from '#product/kernel';
import { CatalogueHouse, refusal } from './catalogue-house';

let house: CatalogueHouse;
beforeAll(async () => {
  house = await CatalogueHouse.open();
  await house.provider('north', ['eu', 'us']);
  await house.provider('south');
});
afterAll(() => house.close());

const names = async (model: string): Promise<readonly string[]> =>
  (await house.snapshot()).model(model)?.lanes.map(({ provider, region }) => `${provider.name}/${region}`) ??
  [];

describe('providers', () => {
  test('a change of one field leaves the others alone', async () => {
    const made = await house.write((tx) =>
      house.editor.upsertProvider(tx, {
        name: 'east',
        style: 'messages-style',
        baseUrl: 'https://east.example',
        regions: ['eu'],
        settings: { apiVersion: '2026-01-01' },
        timeouts: { connect: 1_000 },
        managed: true,
      }),
    );
    const hidden = await house.write((tx) =>
      house.editor.upsertProvider(tx, { id: made.id, visible: false }),
    );
    expect(hidden).toMatchObject({
      name: 'east',
      style: 'messages-style',
      baseUrl: 'https://east.example',
      regions: ['eu'],
      settings: { apiVersion: '2026-01-01' },
      timeouts: { connect: 1_000 },
      managed: true,
      visible: false,
    });
    const renamed = await house.write((tx) =>
      house.editor.upsertProvider(tx, { id: made.id, name: 'orient' }),
    );
    expect(renamed).toEqual({ ...hidden, name: 'orient' });
    expect(
      await house.write((tx) => house.editor.upsertProvider(tx, { name: 'orient', baseUrl: undefined })),
    ).toEqual(renamed);
  });

  test.each([
    'ftp://x.example',
    'https://user:secret@x.example',
    'https://x.example/?key=1',
    'x.example',
    '',
  ])('refuses the address %p', async (baseUrl) => {
    const attempt = house.write((tx) =>
      house.editor.upsertProvider(tx, { name: 'odd', style: 'openai-style', baseUrl }),
    );
    await expect(attempt).rejects.toEqual(refusal('invalid_provider'));
  });

  test('refuses a name that is taken, an id that is not there, and half a provider', async () => {
    const upsert = (input: object): Promise<unknown> =>
      house.write((tx) => house.editor.upsertProvider(tx, input));
    const { id } = await house.provider('west');
    await expect(upsert({ id, name: 'north' })).rejects.toEqual(refusal('conflict'));
    await expect(upsert({ id: 999_999, visible: false })).rejects.toEqual(refusal('not_found'));
    await expect(upsert({ name: 'half' })).rejects.toEqual(refusal('missing_fields'));
  });

  test('goes only when no model needs it, and its name is free again', async () => {
    const { id } = await house.provider('brief');
    await house.models('on-brief');
    const lanes = [{ provider: 'brief', upstreamModel: 'm', region: 'eu' }];
    await house.write((tx) => house.editor.setLanes(tx, 'on-brief', lanes));
    const remove = (): Promise<void> => house.write((tx) => house.editor.removeProvider(tx, id));
    await expect(remove()).rejects.toEqual(refusal('conflict'));
    await house.write((tx) => house.editor.setLanes(tx, 'on-brief', []));
    await remove();
    await expect(remove()).rejects.toEqual(refusal('not_found'));
    expect((await house.snapshot()).providers.map(({ name }) => name)).not.toContain('brief');
    expect((await house.provider('brief')).id).not.toBe(id);
  });
});

describe('models', () => {
  test('a change of one field leaves the others alone, its state included', async () => {
    await house.write((tx) =>
      house.editor.upsertModel(tx, {
        name: 'kept',
        kind: 'chat',
        ownedBy: 'north',
        displayName: 'Kept',
        contextTokens: 1_000,
        capabilities: ['tools'],
        replayIncluded: true,
      }),
    );
    await house.write((tx) => house.editor.setState(tx, 'kept', 'hidden'));
    const changed = await house.write((tx) =>
      house.editor.upsertModel(tx, { name: 'kept', displayOrder: 3 }),
    );
    expect(changed).toMatchObject({
      kind: 'chat',
      ownedBy: 'north',
      displayName: 'Kept',
      contextTokens: 1_000,
      capabilities: ['tools'],
      replayIncluded: true,
      state: 'hidden',
      displayOrder: 3,
    });
  });

  test('every state leads to every other, and a deleted model keeps its record', async () => {
    await house.models('moved');
    for (const state of ['paused', 'hidden', 'deleted', 'active', 'deleted', 'paused'] as const) {
      await house.write((tx) => house.editor.setState(tx, 'moved', state));
      expect((await house.snapshot()).model('moved')?.state).toBe(state);
    }
    const odd = house.write((tx) => house.editor.setState(tx, 'moved', 'gone' as never));
    await expect(odd).rejects.toEqual(refusal('conflict'));
  });

  test.each(['', 'with space', '-dash', 'ü', 'a'.repeat(129), "m'; DROP TABLE model"])(
    'refuses the name %p',
    async (name) => {
      const attempt = house.write((tx) => house.editor.upsertModel(tx, { name, kind: 'chat', ownedBy: 'x' }));
      await expect(attempt).rejects.toEqual(refusal('validation_error'));
    },
  );
});

describe('lanes', () => {
  const set = (lanes: Parameters<typeof house.editor.setLanes>[2]): Promise<{ id: number }[]> =>
    house.write((tx) => house.editor.setLanes(tx, 'routed', lanes));
  const north = { provider: 'north', upstreamModel: 'm', region: 'eu' };
  const south = { provider: 'south', upstreamModel: 'm', region: 'asia' };
  beforeAll(() => house.models('routed'));

  test('keep their id through every change of the chain, and what was not named', async () => {
    const first = await set([{ ...north, weight: 7 }, south]);
    expect(await names('routed')).toEqual(['north/eu', 'south/asia']);
    const second = await set([south, north]);
    expect(await names('routed')).toEqual(['south/asia', 'north/eu']);
    expect(second.map(({ id }) => id)).toEqual(first.map(({ id }) => id).reverse());
    expect((await house.snapshot()).model('routed')?.lanes[1]?.weight).toBe(7);
    await set([south]);
    expect(await names('routed')).toEqual(['south/asia']);
    expect((await set([north, south])).map(({ id }) => id)).toEqual(first.map(({ id }) => id));
  });

  test('refuse a region the provider does not serve, an unknown provider, and a lane twice', async () => {
    await set([north]);
    await expect(set([{ ...north, region: 'moon' }])).rejects.toEqual(refusal('validation_error'));
    await expect(set([{ ...north, provider: 'nobody' }])).rejects.toEqual(refusal('invalid_provider'));
    await expect(set([south, south])).rejects.toEqual(refusal('validation_error'));
    expect(await names('routed')).toEqual(['north/eu']);
  });
});

describe('aliases and redirects', () => {
  const alias = (name: string, model: string): Promise<void> =>
    house.write((tx) => house.editor.addAlias(tx, name, model));
  const redirect = (from: string, to: string | null): Promise<void> =>
    house.write((tx) => house.editor.setRedirect(tx, from, to));
  const conflict = refusal('alias_redirect_conflict');
  beforeAll(() => house.models('a', 'b', 'c', 'd', 'e', 'f', 'g'));

  test('an alias is added once and removed once', async () => {
    await alias('nickname', 'a');
    await alias('nickname', 'a');
    expect((await house.snapshot()).model('nickname')?.name).toBe('a');
    await house.write((tx) => house.editor.removeAlias(tx, 'nickname'));
    expect((await house.snapshot()).model('nickname')).toBeUndefined();
    await expect(house.write((tx) => house.editor.removeAlias(tx, 'nickname'))).rejects.toEqual(
      refusal('not_found'),
    );
  });

  test('one name never means two things', async () => {
    await alias('only-a', 'a');
    await expect(alias('only-a', 'b')).rejects.toEqual(conflict);
    await expect(alias('b', 'a')).rejects.toEqual(conflict);
    await expect(alias('a', 'a')).rejects.toEqual(conflict);
    await expect(alias('auto', 'a')).rejects.toEqual(conflict);
    await expect(house.models('only-a')).rejects.toEqual(conflict);
    await expect(alias('x', 'only-a')).rejects.toEqual(refusal('model_not_found'));
  });

  test('a name taken by two at the same time goes to one of them', async () => {
    const outcomes = await Promise.allSettled([
      alias('wanted', 'a'),
      house.models('wanted'),
      alias('wanted', 'b'),
    ]);
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  test('a redirect may name an alias; a circle and a sixth hop are refused', async () => {
    await alias('also-b', 'b');
    await redirect('a', 'also-b');
    await expect(redirect('a', 'a')).rejects.toEqual(conflict);
    await expect(redirect('b', 'a')).rejects.toEqual(conflict);
    await redirect('b', 'c');
    await expect(redirect('c', 'a')).rejects.toEqual(conflict);
    await redirect('f', 'g');
    await redirect('e', 'f');
    await redirect('c', 'd');
    await expect(redirect('d', 'e')).rejects.toEqual(conflict);
    await redirect('e', null);
    await redirect('d', 'e');
    await redirect('d', null);
    await expect(redirect('a', 'nothing')).rejects.toEqual(refusal('model_not_found'));
  });

  test('two redirects that would close a circle together do not both happen', async () => {
    await redirect('f', null);
    const outcomes = await Promise.allSettled([redirect('f', 'g'), redirect('g', 'f')]);
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  });
});

test('access is kept in two words that do not overwrite each other', async () => {
  const [organisation] = await house.database.query<{ id: number }>(
    "INSERT INTO organisation (name, slug) VALUES ('O', 'o') RETURNING id",
  );
  const [department] = await house.database.query<{ id: number }>(
    'INSERT INTO department (organisation_id, name) VALUES ($1, $2) RETURNING id',
    [organisation!.id, 'D'],
  );
  const audience = { organisationId: organisation!.id, departmentId: department!.id };
  await house.models('guarded');
  await house.write((tx) => house.editor.upsertModel(tx, { name: 'guarded', restricted: true }));
  const open = async (): Promise<boolean> => {
    const snapshot = await house.snapshot();
    return snapshot.isOpenTo(snapshot.model('guarded')!, audience);
  };
  const set = (access: { granted?: boolean; enabled?: boolean }): Promise<void> =>
    house.write((tx) => house.editor.setOrganisationAccess(tx, 'guarded', organisation!.id, access));
  expect(await open()).toBe(false);
  await set({ enabled: true });
  expect(await open()).toBe(false);
  await set({ granted: true });
  expect(await open()).toBe(true);
  await set({ enabled: false });
  expect(await open()).toBe(false);
  await set({ granted: true });
  expect(await open()).toBe(false);
  await set({ enabled: true });
  expect(await open()).toBe(true);
  await house.write((tx) => house.editor.setDepartmentAccess(tx, department!.id, 'guarded', false));
  expect(await open()).toBe(false);
});

describe('sandbox', () => {
  const ensure = (url: string): Promise<void> => house.write((tx) => ensureSandbox(tx, url));

  test('offers a priced model of every kind', async () => {
    await ensure('http://127.0.0.1:4010');
    const snapshot = await house.snapshot();
    const sandboxed = snapshot.models.filter(({ name }) => name.startsWith('sim-'));
    expect(new Set(sandboxed.map(({ kind }) => kind)).size).toBe(7);
    for (const { name } of sandboxed) {
      const found = snapshot.resolve(name, Date.now());
      if (found.kind === 'refused') throw new Error(`${name}: ${found.code}`);
      const usage = usageOf({ inputTokens: 1_000, outputTokens: 1_000, audioMilliseconds: 60_000 });
      expect(costOf(usage, found.lanes[0]!.price.rates)).toBeGreaterThan(0n);
    }
  });

  test('a second time only moves the supplier, and leaves what people changed', async () => {
    await ensure('http://127.0.0.1:4010');
    await house.write((tx) => house.editor.setState(tx, 'sim-small', 'paused'));
    const before = await house.snapshot();
    await ensure('http://127.0.0.1:4011');
    const after = await house.snapshot();
    expect(after.model('sim-small')?.state).toBe('paused');
    expect(after.model('sim-large')?.prices).toEqual(before.model('sim-large')?.prices);
    expect(after.model('sim-large')?.lanes[0]?.provider.baseUrl).toBe('http://127.0.0.1:4011');
  });
});
