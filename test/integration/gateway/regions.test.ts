import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isUnmet, staysInRegion, makeCall, planCall, type RegionCall } from '../../../proofs/regions/calls';
import { Suppliers } from '../../../proofs/regions/suppliers';
import { buildWorld, type Region, regions, type World } from '../../../proofs/regions/world';
import { Chance } from '../../system/chance';
import { addKey, type GatewayFile } from '../../system/node';
import { Rows } from '../../system/rows';
import { CatalogueService } from '#product/catalogue';
import { executeCommand } from '#inside/commands/run-command';
import { startTestApp, type TestApp } from '../../support/app';
import { makeScratchFolder } from '../../support/scratch';

/** The smaller sister of `npm run prove:regions`. */
describe('no call leaves the regions it may be answered in', () => {
  const chance = new Chance(20_261);
  const folder = makeScratchFolder('switchboard-regions-');
  let suppliers: Suppliers;
  let app: TestApp;
  let world: World;
  let rows: Rows;

  const apply = async (file: GatewayFile): Promise<string> => {
    const path = join(folder, 'gateway.yaml');
    writeFileSync(path, JSON.stringify({ version: 1, ...file }));
    const said: string[] = [];
    const write = (text: string): void => void said.push(text);
    const environment = { ...app.environment, SUPPLIER_KEY: 'sim-proof' };
    const context = { environment, write, writeStderr: write, confirm: () => Promise.resolve(false) };
    expect(await executeCommand(['apply', path, '--yes'], context)).toBe(0);
    await app.application.get(CatalogueService).reload();
    return said.join('');
  };

  beforeAll(async () => {
    suppliers = await Suppliers.start(1);
    app = await startTestApp({ environment: { SUPPLIER_ALLOW: '127.0.0.0/8' } });
    rows = new Rows(app.environment['MIGRATION_DATABASE_URL'] ?? '');
    const node = { apply, addKey: (body: object) => addKey(app.url, app.firstKeys?.root ?? '', body) };
    world = await buildWorld({ node, rows }, suppliers.sites, chance);
    await suppliers.addFaults();
  });
  afterAll(async () => {
    await rows.close();
    await app.close();
    await suppliers.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const turns: Region[][] = [[], ['eu'], ['us'], ['ap'], ['eu', 'us']];

  test.each(turns.map((within) => [within.join(' + ') || 'nowhere', within] as const))(
    '%s: not even a connection arrives elsewhere, whatever fails',
    async (_name, within) => {
      const allowed = new Set(within);
      const calls = Array.from({ length: 60 }, () => planCall(world, allowed, chance));
      const before = await suppliers.arrivals();
      const outcomes = await Promise.all(calls.map((call) => makeCall(app.url, call)));
      expect(await suppliers.outside(allowed, before)).toEqual({ connections: 0, requests: 0 });
      expect(outcomes.filter((outcome) => !staysInRegion(outcome))).toEqual([]);
      const served = outcomes.filter(({ status }) => status === 200);
      if (within.length === 0) expect(outcomes.every(({ call }) => isUnmet(call))).toBe(true);
      else expect(served.length).toBeGreaterThan(10);
    },
  );

  /** A chat model that stands in one region only, asked for with a key that some others are open to. */
  const onlyIn = (home: Region, call: Partial<RegionCall>): RegionCall => {
    const named = world.names.find(
      ({ kind, homes }) => kind === 'chat' && homes.size === 1 && homes.has(home),
    );
    const key = world.keys.find(({ allowed }) => allowed.size === regions.length);
    if (named === undefined || key === undefined) throw new Error('the world has no such model or key');
    const usual = { surface: 'chat', key, named, region: null, stream: false, session: 's' } as const;
    return { ...usual, permitted: new Set(), ...call };
  };

  test('the organisation, the key and the call each narrow, and none of them widens', async () => {
    const homes = regions.find((region) =>
      world.names.some(({ kind, homes: own }) => kind === 'chat' && own.size === 1 && own.has(region)),
    );
    const home = homes ?? 'eu';
    const elsewhere = regions.find((region) => region !== home) ?? 'us';
    const narrow = world.keys.find(({ allowed }) => allowed.size === 1 && allowed.has(elsewhere));
    const refused = { status: 503, code: 'sovereign_route_unavailable' };
    expect(await makeCall(app.url, onlyIn(home, { region: elsewhere }))).toMatchObject(refused);
    expect(await makeCall(app.url, onlyIn(home, { region: 'mars' }))).toMatchObject({
      status: 400,
      code: 'invalid_request',
    });
    expect(
      await makeCall(app.url, onlyIn(home, { ...(narrow && { key: narrow }), region: home })),
    ).toMatchObject(refused);
    await suppliers.clearFaults();
    const answered = await makeCall(app.url, onlyIn(home, { region: home, session: 'fresh' }));
    expect([answered.status, answered.code]).not.toEqual([503, 'sovereign_route_unavailable']);
    await app.database.query("UPDATE organisation SET allowed_regions = $1 WHERE slug = 'house-0'", [
      [elsewhere],
    ]);
    const deadline = performance.now() + 15_000;
    let last = await makeCall(app.url, onlyIn(home, {}));
    while (last.code !== refused.code && performance.now() < deadline)
      last = await makeCall(app.url, onlyIn(home, {}));
    expect(last).toMatchObject(refused);
  });
});
