import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isUnmet, staysInRegion, makeCall, planCall, type RegionCall } from '../../../proofs/regions/calls';
import { RegionSuppliers } from '../../../proofs/regions/suppliers';
import { buildWorld, type Region, regions, type RegionWorld } from '../../../proofs/regions/world';
import { SeededRandom } from '../../system/seeded-random';
import { addKey, type GatewayFile } from '../../system/node';
import { InstallationDatabase } from '../../system/installation-database';
import { CatalogueService } from '#product/catalogue';
import { executeCommand } from '#inside/commands/run-command';
import { startTestApp, type TestApp } from '../../support/app';
import { makeScratchFolder } from '../../support/scratch';

/** A smaller version of `npm run prove:regions`. */
describe('Region restrictions', () => {
  const chance = new SeededRandom(20_261);
  const folder = makeScratchFolder('switchboard-regions-');
  let suppliers: RegionSuppliers;
  let app: TestApp;
  let world: RegionWorld;
  let rows: InstallationDatabase;

  const apply = async (file: GatewayFile): Promise<string> => {
    const path = join(folder, 'gateway.yaml');
    writeFileSync(path, JSON.stringify({ version: 1, ...file }));
    const outputLines: string[] = [];
    const write = (text: string): void => void outputLines.push(text);
    const environment = { ...app.environment, SUPPLIER_KEY: 'sim-proof' };
    const context = { environment, write, writeStderr: write, confirm: () => Promise.resolve(false) };
    expect(await executeCommand(['apply', path, '--yes'], context)).toBe(0);
    await app.application.get(CatalogueService).reload();
    return outputLines.join('');
  };

  beforeAll(async () => {
    suppliers = await RegionSuppliers.start(1);
    app = await startTestApp({ environment: { SUPPLIER_ALLOW: '127.0.0.0/8' } });
    rows = new InstallationDatabase(app.environment['MIGRATION_DATABASE_URL'] ?? '');
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

  const allowedRegions: Region[][] = [[], ['eu'], ['us'], ['ap'], ['eu', 'us']];

  test.each(allowedRegions.map((within) => [within.join(' + ') || 'nowhere', within] as const))(
    '%s: no connection reaches another region, whatever fails',
    async (_name, within) => {
      const allowedSet = new Set(within);
      const calls = Array.from({ length: 60 }, () => planCall(world, allowedSet, chance));
      const arrivalsBefore = await suppliers.traffic();
      const outcomes = await Promise.all(calls.map((call) => makeCall(app.url, call)));
      expect(await suppliers.trafficOutside(allowedSet, arrivalsBefore)).toEqual({
        connections: 0,
        requests: 0,
      });
      expect(outcomes.filter((outcome) => !staysInRegion(outcome))).toEqual([]);
      const successes = outcomes.filter(({ status }) => status === 200);
      if (within.length === 0) expect(outcomes.every(({ call }) => isUnmet(call))).toBe(true);
      else expect(successes.length).toBeGreaterThan(10);
    },
  );

  /** A call for a chat model that exists in one region only, with a key that allows every region. */
  const callInRegion = (home: Region, call: Partial<RegionCall>): RegionCall => {
    const regionalModel = world.names.find(
      ({ kind, homes }) => kind === 'chat' && homes.size === 1 && homes.has(home),
    );
    const key = world.keys.find(({ allowed }) => allowed.size === regions.length);
    if (regionalModel === undefined || key === undefined)
      throw new Error('the world has no such model or key');
    const defaultCall = {
      surface: 'chat',
      key,
      named: regionalModel,
      region: null,
      stream: false,
      session: 's',
    } as const;
    return { ...defaultCall, permitted: new Set(), ...call };
  };

  test('organisation, key and request each restrict the regions, and none extends them', async () => {
    const homeRegion = regions.find((region) =>
      world.names.some(({ kind, homes: own }) => kind === 'chat' && own.size === 1 && own.has(region)),
    );
    const home = homeRegion ?? 'eu';
    const otherRegion = regions.find((region) => region !== home) ?? 'us';
    const restrictedKey = world.keys.find(({ allowed }) => allowed.size === 1 && allowed.has(otherRegion));
    const refusal = { status: 503, code: 'sovereign_route_unavailable' };
    expect(await makeCall(app.url, callInRegion(home, { region: otherRegion }))).toMatchObject(refusal);
    expect(await makeCall(app.url, callInRegion(home, { region: 'mars' }))).toMatchObject({
      status: 400,
      code: 'invalid_request',
    });
    expect(
      await makeCall(
        app.url,
        callInRegion(home, { ...(restrictedKey && { key: restrictedKey }), region: home }),
      ),
    ).toMatchObject(refusal);
    await suppliers.clearFaults();
    const response = await makeCall(app.url, callInRegion(home, { region: home, session: 'fresh' }));
    expect([response.status, response.code]).not.toEqual([503, 'sovereign_route_unavailable']);
    await app.database.query("UPDATE organisation SET allowed_regions = $1 WHERE slug = 'house-0'", [
      [otherRegion],
    ]);
    const deadline = performance.now() + 15_000;
    let lastOutcome = await makeCall(app.url, callInRegion(home, {}));
    while (lastOutcome.code !== refusal.code && performance.now() < deadline)
      lastOutcome = await makeCall(app.url, callInRegion(home, {}));
    expect(lastOutcome).toMatchObject(refusal);
  });
});
