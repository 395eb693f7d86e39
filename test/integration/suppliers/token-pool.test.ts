import { Logger } from '#inside/boot/packages';
import type { ProviderView } from '../../../src/catalogue';
import { fault, type HoldProof } from '#product/kernel';
import { startSimulator, type Simulator } from '../../support/simulator';
import { CatalogueHouse, refusal } from '../catalogue/catalogue-house';
import { callTo, fakeServer, type FakeServer, SupplierHouse } from './supplier-house';
import { until } from '../../support/until';

const hold = {} as HoldProof;
const soon = (): number => Date.now() + 5_000;
const later = (): number => Date.now() + 3_600_000;

let catalogue: CatalogueHouse;
let house: SupplierHouse;
let simulator: Simulator;
let issuer: FakeServer;
let issued = 0;
let refuses = false;
/** The issuer answers from then on. */
let issuerOpens: Promise<void> = Promise.resolve();
let names = 0;

beforeAll(async () => {
  Logger.overrideLogger(false);
  catalogue = await CatalogueHouse.open();
  house = new SupplierHouse(catalogue);
  simulator = await startSimulator();
  issuer = await fakeServer((response, body) => {
    if (refuses) return void response.writeHead(400).end(`{"error":"invalid_grant","canary":"${body}"}`);
    issued += 1;
    const fresh = { access_token: `sim-${issued}`, refresh_token: `refresh-${issued}`, expires_in: 3600 };
    void issuerOpens.then(() => response.end(JSON.stringify(fresh)));
  });
});
beforeEach(async () => {
  refuses = false;
  await simulator.clearFaults();
});
afterAll(async () => {
  await house.close();
  await issuer.stop();
  await simulator.stop();
  await catalogue.close();
});

/** A provider of its own with these tokens. */
async function pool(tokens: Readonly<Record<string, number | undefined>>): Promise<ProviderView> {
  const settings = { oauth: { token_url: issuer.url, client_id: 'agent' } };
  const provider = await house.provider(
    `native ${(names += 1)}`,
    'native-oauth',
    `${simulator.url}/v1`,
    settings,
  );
  for (const [label, expiresAt] of Object.entries(tokens)) {
    const secret = { accessToken: `sim-${label}`, refreshToken: `refresh-${label}`, expiresAt };
    await catalogue.write((tx) =>
      house.editor.put(tx, { providerId: provider.id, label, kind: 'oauth-pool', secret }),
    );
  }
  await house.reload();
  return provider;
}

const eventsOf = async (provider: ProviderView): Promise<string[]> =>
  (await house.events.find({ provider: provider.name })).map(({ keyName, kind }) => `${keyName} ${kind}`);

async function eventsAre(provider: ProviderView, expected: readonly string[]): Promise<void> {
  let seen: string[] = [];
  const look = setInterval(() => void eventsOf(provider).then((found) => (seen = found.sort())), 10);
  await until(() => JSON.stringify(seen) === JSON.stringify(expected)).finally(() => clearInterval(look));
}

const tokensSeen = async (): Promise<string[]> =>
  (await simulator.requests())
    .map(({ headers }) => (headers.authorization ?? '').slice('Bearer '.length))
    .sort();

const native = { model: 'x', stream: true, store: false, input: [{ role: 'user', content: 'Hello' }] };

test('a call goes out with a token of the pool and gives it back', async () => {
  const provider = await pool({ one: later() });
  await simulator.clearRequests();
  const sent = await house.client.open(hold, callTo(provider, 'native', native), {});
  expect(sent).toMatchObject({ dialect: 'responses', dropped: [] });
  expect((await sent.exchange.head).status).toBe(200);
  expect((await sent.exchange.readBody()).toString()).toContain('response.completed');
  const [request] = await simulator.requests();
  expect(request?.headers.authorization).toBe('Bearer sim-one');
});

test('the one with the fewest calls is taken, then the one that waited longest', async () => {
  const provider = await pool({ one: later(), two: later(), three: later() });
  const leases = [];
  for (let n = 0; n < 6; n += 1) leases.push(await house.tokens.take(provider));
  const used = leases.map(({ token }) => token.accessToken);
  expect([...used.slice(0, 3)].sort()).toEqual(['sim-one', 'sim-three', 'sim-two']);
  expect(used.slice(3)).toEqual(used.slice(0, 3));
  leases[1]!.release();
  leases[1]!.release();
  expect((await house.tokens.take(provider)).token.accessToken).toBe(used[1]);
});

test('before its end a token is renewed once, however many ask, and written down', async () => {
  const provider = await pool({ ending: soon() });
  const before = issuer.bodies.length;
  const leases = await Promise.all(Array.from({ length: 20 }, () => house.tokens.take(provider)));
  expect(issuer.bodies.slice(before)).toEqual([
    'grant_type=refresh_token&refresh_token=refresh-ending&client_id=agent',
  ]);
  const fresh = `sim-${issued}`;
  expect(new Set(leases.map(({ token }) => token.accessToken))).toEqual(new Set([fresh]));
  await house.reload();
  expect(house.store.tokensOf(provider.id)[0]?.token).toMatchObject({
    accessToken: fresh,
    refreshToken: `refresh-${issued}`,
  });
  expect((await house.tokens.take(provider)).token.accessToken).toBe(fresh);
  expect(issuer.bodies).toHaveLength(before + 1);
  await eventsAre(provider, ['ending refreshed']);
});

test('two nodes renew it once between them', async () => {
  const provider = await pool({ shared: soon() });
  const other = new SupplierHouse(catalogue);
  await other.reload();
  const before = issuer.bodies.length;
  const [one, two] = await Promise.all([house.tokens.take(provider), other.tokens.take(provider)]);
  expect(issuer.bodies).toHaveLength(before + 1);
  expect(one.token.accessToken).toBe(two.token.accessToken);
  await other.close();
});

test('a token entered by hand takes the place of a renewed one', async () => {
  const provider = await pool({ mine: soon() });
  await house.tokens.take(provider);
  const secret = { accessToken: 'sim-by-hand' };
  await catalogue.write((tx) =>
    house.editor.put(tx, { providerId: provider.id, label: 'mine', kind: 'oauth-pool', secret }),
  );
  await house.reload();
  expect((await house.tokens.take(provider)).token.accessToken).toBe('sim-by-hand');
});

test('what cannot be renewed rests, the next one serves, and no secret is written anywhere', async () => {
  const provider = await pool({ broken: soon(), good: later() });
  refuses = true;
  const used = await Promise.all([house.tokens.take(provider), house.tokens.take(provider)]);
  expect(used.map(({ token }) => token.accessToken)).toEqual(['sim-good', 'sim-good']);
  await eventsAre(provider, ['broken refresh-failed']);
  const written = JSON.stringify(await house.events.find({ provider: provider.name }));
  expect(written).not.toMatch(/refresh-broken|sim-broken|canary/);
});

test('one that is limited rests as long as it was told; when all are, the caller is told when', async () => {
  const provider = await pool({ one: later(), two: later() });
  await simulator.addFault({
    times: 2,
    fault: { kind: 'status', status: 429, headers: { 'retry-after': '77' } },
  });
  await simulator.clearRequests();
  const sent = await house.client.open(hold, callTo(provider, 'native', native), {});
  const head = await sent.exchange.head;
  expect(sent.judge(head, await sent.exchange.readBody()).kind).toBe('rate_limit');
  expect(await tokensSeen()).toEqual(['sim-one', 'sim-two']);
  await expect(house.client.open(hold, callTo(provider, 'native', native), {})).rejects.toMatchObject({
    code: 'supplier_limit',
    options: { retryAfterSeconds: 77 },
  });
  await eventsAre(provider, ['one limited', 'two limited']);
});

test('one that is rejected is renewed at once and serves again', async () => {
  const provider = await pool({ stale: later() });
  await simulator.addFault({ times: 1, fault: { kind: 'status', status: 401 } });
  const sent = await house.client.open(hold, callTo(provider, 'native', native), {});
  expect((await sent.exchange.head).status).toBe(401);
  await sent.exchange.readBody();
  await eventsAre(provider, ['stale refreshed', 'stale rejected']);
  const again = await house.client.open(hold, callTo(provider, 'native', native), {});
  expect((await again.exchange.head).status).toBe(200);
  await again.exchange.readBody();
});

test('a call goes through three tokens at most', async () => {
  const provider = await pool({ one: later(), two: later(), three: later(), four: later() });
  await simulator.addFault({ fault: { kind: 'status', status: 401 } });
  await simulator.clearRequests();
  const sent = await house.client.open(hold, callTo(provider, 'native', native), {});
  expect((await sent.exchange.head).status).toBe(401);
  expect(await tokensSeen()).toHaveLength(3);
});

test('a caller who leaves between two tokens leaves at once, and the next token stays unused', async () => {
  // The newest is taken first.
  const provider = await pool({ ending: soon(), one: later() });
  await simulator.addFault({ match: { key: 'sim-one' }, fault: { kind: 'status', status: 401 } });
  await simulator.clearRequests();
  const { promise, resolve: open } = Promise.withResolvers<void>();
  issuerOpens = promise;
  const asked = issuer.bodies.length;
  const sent = await house.client.open(hold, callTo(provider, 'native', native), {});
  await until(() => issuer.bodies.some((body, at) => at >= asked && body.includes('refresh-ending')));
  const left = fault('stream_interrupted');
  sent.exchange.abort(left);
  await expect(sent.exchange.head).rejects.toBe(left);
  open();
  await eventsAre(provider, ['ending refreshed', 'one refreshed', 'one rejected']);
  expect(await tokensSeen()).toEqual(['sim-one']);
});

test('a pool without tokens is a fault of the configuration', async () => {
  const provider = await pool({});
  await expect(house.tokens.take(provider)).rejects.toMatchObject(refusal('configuration_error'));
});
