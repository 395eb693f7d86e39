import { ensureSandbox } from '#product/catalogue';
import { costOf, usageOf } from '#product/kernel';
import { CatalogueFixture, errorWithCode } from './catalogue-fixture';

let fixture: CatalogueFixture;
beforeAll(async () => {
  fixture = await CatalogueFixture.open();
  await fixture.provider('north', ['eu', 'us']);
  await fixture.provider('south');
});
afterAll(() => fixture.close());

const names = async (model: string): Promise<readonly string[]> =>
  (await fixture.snapshot())
    .model(model)
    ?.lanes.map(({ provider, region }) => `${provider.name}/${region}`) ?? [];

describe('Providers', () => {
  test('keep other fields when one changes', async () => {
    const createdProvider = await fixture.write((tx) =>
      fixture.editor.upsertProvider(tx, {
        name: 'east',
        style: 'messages-style',
        baseUrl: 'https://east.example',
        regions: ['eu'],
        settings: { apiVersion: '2026-01-01' },
        timeouts: { connect: 1_000 },
        managed: true,
      }),
    );
    const hiddenProvider = await fixture.write((tx) =>
      fixture.editor.upsertProvider(tx, { id: createdProvider.id, visible: false }),
    );
    expect(hiddenProvider).toMatchObject({
      name: 'east',
      style: 'messages-style',
      baseUrl: 'https://east.example',
      regions: ['eu'],
      settings: { apiVersion: '2026-01-01' },
      timeouts: { connect: 1_000 },
      managed: true,
      visible: false,
    });
    const renamedProvider = await fixture.write((tx) =>
      fixture.editor.upsertProvider(tx, { id: createdProvider.id, name: 'orient' }),
    );
    expect(renamedProvider).toEqual({ ...hiddenProvider, name: 'orient' });
    expect(
      await fixture.write((tx) => fixture.editor.upsertProvider(tx, { name: 'orient', baseUrl: undefined })),
    ).toEqual(renamedProvider);
  });

  test.each([
    'ftp://x.example',
    'https://user:secret@x.example',
    'https://x.example/?key=1',
    'x.example',
    '',
  ])('refuse the address %p', async (baseUrl) => {
    const attempt = fixture.write((tx) =>
      fixture.editor.upsertProvider(tx, { name: 'odd', style: 'openai-style', baseUrl }),
    );
    await expect(attempt).rejects.toEqual(errorWithCode('invalid_provider'));
  });

  test('refuse a name in use, an unknown id and missing required fields', async () => {
    const upsert = (input: object): Promise<unknown> =>
      fixture.write((tx) => fixture.editor.upsertProvider(tx, input));
    const { id } = await fixture.provider('west');
    await expect(upsert({ id, name: 'north' })).rejects.toEqual(errorWithCode('conflict'));
    await expect(upsert({ id: 999_999, visible: false })).rejects.toEqual(errorWithCode('not_found'));
    await expect(upsert({ name: 'half' })).rejects.toEqual(errorWithCode('missing_fields'));
  });

  test('can be removed when no model uses them, which frees their name', async () => {
    const { id } = await fixture.provider('brief');
    await fixture.models('on-brief');
    const lanes = [{ provider: 'brief', upstreamModel: 'm', region: 'eu' }];
    await fixture.write((tx) => fixture.editor.setLanes(tx, 'on-brief', lanes));
    const remove = (): Promise<void> => fixture.write((tx) => fixture.editor.removeProvider(tx, id));
    await expect(remove()).rejects.toEqual(errorWithCode('conflict'));
    await fixture.write((tx) => fixture.editor.setLanes(tx, 'on-brief', []));
    await remove();
    await expect(remove()).rejects.toEqual(errorWithCode('not_found'));
    expect((await fixture.snapshot()).providers.map(({ name }) => name)).not.toContain('brief');
    expect((await fixture.provider('brief')).id).not.toBe(id);
  });
});

describe('Models', () => {
  test('keep other fields and the state when one field changes', async () => {
    await fixture.write((tx) =>
      fixture.editor.upsertModel(tx, {
        name: 'kept',
        kind: 'chat',
        ownedBy: 'north',
        displayName: 'Kept',
        contextTokens: 1_000,
        capabilities: ['tools'],
        replayIncluded: true,
      }),
    );
    await fixture.write((tx) => fixture.editor.setState(tx, 'kept', 'hidden'));
    const changedModel = await fixture.write((tx) =>
      fixture.editor.upsertModel(tx, { name: 'kept', displayOrder: 3 }),
    );
    expect(changedModel).toMatchObject({
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

  test('can change from any state to any other, and a deleted model keeps its record', async () => {
    await fixture.models('moved');
    for (const state of ['paused', 'hidden', 'deleted', 'active', 'deleted', 'paused'] as const) {
      await fixture.write((tx) => fixture.editor.setState(tx, 'moved', state));
      expect((await fixture.snapshot()).model('moved')?.state).toBe(state);
    }
    const invalidState = fixture.write((tx) => fixture.editor.setState(tx, 'moved', 'gone' as never));
    await expect(invalidState).rejects.toEqual(errorWithCode('conflict'));
  });

  test.each(['', 'with space', '-dash', 'ü', 'a'.repeat(129), "m'; DROP TABLE model"])(
    'refuse the name %p',
    async (name) => {
      const attempt = fixture.write((tx) =>
        fixture.editor.upsertModel(tx, { name, kind: 'chat', ownedBy: 'x' }),
      );
      await expect(attempt).rejects.toEqual(errorWithCode('validation_error'));
    },
  );
});

describe('Lanes', () => {
  const setLanes = (lanes: Parameters<typeof fixture.editor.setLanes>[2]): Promise<{ id: number }[]> =>
    fixture.write((tx) => fixture.editor.setLanes(tx, 'routed', lanes));
  const northLane = { provider: 'north', upstreamModel: 'm', region: 'eu' };
  const southLane = { provider: 'south', upstreamModel: 'm', region: 'asia' };
  beforeAll(() => fixture.models('routed'));

  test('keep their id and unspecified fields when the chain changes', async () => {
    const firstLanes = await setLanes([{ ...northLane, weight: 7 }, southLane]);
    expect(await names('routed')).toEqual(['north/eu', 'south/asia']);
    const secondLanes = await setLanes([southLane, northLane]);
    expect(await names('routed')).toEqual(['south/asia', 'north/eu']);
    expect(secondLanes.map(({ id }) => id)).toEqual(firstLanes.map(({ id }) => id).reverse());
    expect((await fixture.snapshot()).model('routed')?.lanes[1]?.weight).toBe(7);
    await setLanes([southLane]);
    expect(await names('routed')).toEqual(['south/asia']);
    expect((await setLanes([northLane, southLane])).map(({ id }) => id)).toEqual(
      firstLanes.map(({ id }) => id),
    );
  });

  test('refuse a region the provider does not serve, an unknown provider and a duplicate lane', async () => {
    await setLanes([northLane]);
    await expect(setLanes([{ ...northLane, region: 'moon' }])).rejects.toEqual(
      errorWithCode('validation_error'),
    );
    await expect(setLanes([{ ...northLane, provider: 'nobody' }])).rejects.toEqual(
      errorWithCode('invalid_provider'),
    );
    await expect(setLanes([southLane, southLane])).rejects.toEqual(errorWithCode('validation_error'));
    expect(await names('routed')).toEqual(['north/eu']);
  });
});

describe('Aliases and redirects', () => {
  const alias = (name: string, model: string): Promise<void> =>
    fixture.write((tx) => fixture.editor.addAlias(tx, name, model));
  const redirect = (from: string, to: string | null): Promise<void> =>
    fixture.write((tx) => fixture.editor.setRedirect(tx, from, to));
  const conflict = errorWithCode('alias_redirect_conflict');
  beforeAll(() => fixture.models('a', 'b', 'c', 'd', 'e', 'f', 'g'));

  test('an alias can be added and removed once', async () => {
    await alias('nickname', 'a');
    await alias('nickname', 'a');
    expect((await fixture.snapshot()).model('nickname')?.name).toBe('a');
    await fixture.write((tx) => fixture.editor.removeAlias(tx, 'nickname'));
    expect((await fixture.snapshot()).model('nickname')).toBeUndefined();
    await expect(fixture.write((tx) => fixture.editor.removeAlias(tx, 'nickname'))).rejects.toEqual(
      errorWithCode('not_found'),
    );
  });

  test('a name cannot have two meanings', async () => {
    await alias('only-a', 'a');
    await expect(alias('only-a', 'b')).rejects.toEqual(conflict);
    await expect(alias('b', 'a')).rejects.toEqual(conflict);
    await expect(alias('a', 'a')).rejects.toEqual(conflict);
    await expect(alias('auto', 'a')).rejects.toEqual(conflict);
    await expect(fixture.models('only-a')).rejects.toEqual(conflict);
    await expect(alias('x', 'only-a')).rejects.toEqual(errorWithCode('model_not_found'));
  });

  test('a name claimed concurrently is given to one model', async () => {
    const outcomes = await Promise.allSettled([
      alias('wanted', 'a'),
      fixture.models('wanted'),
      alias('wanted', 'b'),
    ]);
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  test('a redirect can lead to an alias, but not in a loop or over more than five hops', async () => {
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
    await expect(redirect('a', 'nothing')).rejects.toEqual(errorWithCode('model_not_found'));
  });

  test('of two concurrent redirects that would form a loop only one succeeds', async () => {
    await redirect('f', null);
    const outcomes = await Promise.allSettled([redirect('f', 'g'), redirect('g', 'f')]);
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  });
});

test('granted and enabled access are stored independently', async () => {
  const [organisation] = await fixture.database.query<{ id: number }>(
    "INSERT INTO organisation (name, slug) VALUES ('O', 'o') RETURNING id",
  );
  const [department] = await fixture.database.query<{ id: number }>(
    'INSERT INTO department (organisation_id, name) VALUES ($1, $2) RETURNING id',
    [organisation!.id, 'D'],
  );
  const audience = { organisationId: organisation!.id, departmentId: department!.id };
  await fixture.models('guarded');
  await fixture.write((tx) => fixture.editor.upsertModel(tx, { name: 'guarded', restricted: true }));
  const isOpen = async (): Promise<boolean> => {
    const snapshot = await fixture.snapshot();
    return snapshot.isOpenTo(snapshot.model('guarded')!, audience);
  };
  const setAccess = (access: { granted?: boolean; enabled?: boolean }): Promise<void> =>
    fixture.write((tx) => fixture.editor.setOrganisationAccess(tx, 'guarded', organisation!.id, access));
  expect(await isOpen()).toBe(false);
  await setAccess({ enabled: true });
  expect(await isOpen()).toBe(false);
  await setAccess({ granted: true });
  expect(await isOpen()).toBe(true);
  await setAccess({ enabled: false });
  expect(await isOpen()).toBe(false);
  await setAccess({ granted: true });
  expect(await isOpen()).toBe(false);
  await setAccess({ enabled: true });
  expect(await isOpen()).toBe(true);
  await fixture.write((tx) => fixture.editor.setDepartmentAccess(tx, department!.id, 'guarded', false));
  expect(await isOpen()).toBe(false);
});

describe('The sandbox', () => {
  const ensure = (url: string): Promise<void> => fixture.write((tx) => ensureSandbox(tx, url));

  test('provides a priced model of every kind', async () => {
    await ensure('http://127.0.0.1:4010');
    const snapshot = await fixture.snapshot();
    const sandboxModels = snapshot.models.filter(({ name }) => name.startsWith('sim-'));
    expect(new Set(sandboxModels.map(({ kind }) => kind)).size).toBe(7);
    for (const { name } of sandboxModels) {
      const resolution = snapshot.resolve(name, Date.now());
      if (resolution.kind === 'refused') throw new Error(`${name}: ${resolution.code}`);
      const usage = usageOf({ inputTokens: 1_000, outputTokens: 1_000, audioMilliseconds: 60_000 });
      expect(costOf(usage, resolution.lanes[0]!.price.rates)).toBeGreaterThan(0n);
    }
  });

  test('only updates the supplier URL when set up again, and keeps changes by users', async () => {
    await ensure('http://127.0.0.1:4010');
    await fixture.write((tx) => fixture.editor.setState(tx, 'sim-small', 'paused'));
    const snapshotBefore = await fixture.snapshot();
    await ensure('http://127.0.0.1:4011');
    const snapshotAfter = await fixture.snapshot();
    expect(snapshotAfter.model('sim-small')?.state).toBe('paused');
    expect(snapshotAfter.model('sim-large')?.prices).toEqual(snapshotBefore.model('sim-large')?.prices);
    expect(snapshotAfter.model('sim-large')?.lanes[0]?.provider.baseUrl).toBe('http://127.0.0.1:4011');
  });
});
