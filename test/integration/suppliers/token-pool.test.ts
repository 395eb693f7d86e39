import { Logger } from '#inside/boot/packages';
import type { ProviderView } from '../../../src/catalogue';
import { fault, type HoldProof } from '#product/kernel';
import { startSimulator, type Simulator } from '../../support/simulator';
import { CatalogueFixture, errorWithCode } from '../catalogue/catalogue-fixture';
import { callTo, startFakeServer, type FakeServer, SupplierFixture } from './supplier-fixture';
import { until } from '../../support/until';

const hold = {} as HoldProof;
const expiringSoon = (): number => Date.now() + 5_000;
const expiringLater = (): number => Date.now() + 3_600_000;

let catalogue: CatalogueFixture;
let fixture: SupplierFixture;
let simulator: Simulator;
let issuer: FakeServer;
let issuedCount = 0;
let isRefusing = false;
/** The issuer waits for this promise before it responds. */
let issuerReady: Promise<void> = Promise.resolve();
let poolCount = 0;

beforeAll(async () => {
  Logger.overrideLogger(false);
  catalogue = await CatalogueFixture.open();
  fixture = new SupplierFixture(catalogue);
  simulator = await startSimulator();
  issuer = await startFakeServer((response, body) => {
    if (isRefusing) return void response.writeHead(400).end(`{"error":"invalid_grant","canary":"${body}"}`);
    issuedCount += 1;
    const freshTokens = {
      access_token: `sim-${issuedCount}`,
      refresh_token: `refresh-${issuedCount}`,
      expires_in: 3600,
    };
    void issuerReady.then(() => response.end(JSON.stringify(freshTokens)));
  });
});
beforeEach(async () => {
  isRefusing = false;
  await simulator.clearFaults();
});
afterAll(async () => {
  await fixture.close();
  await issuer.stop();
  await simulator.stop();
  await catalogue.close();
});

/** Creates a provider with these tokens. */
async function createPool(tokens: Readonly<Record<string, number | undefined>>): Promise<ProviderView> {
  const settings = { oauth: { token_url: issuer.url, client_id: 'agent' } };
  const provider = await fixture.provider(
    `native ${(poolCount += 1)}`,
    'native-oauth',
    `${simulator.url}/v1`,
    settings,
  );
  for (const [label, expiresAt] of Object.entries(tokens)) {
    const secret = { accessToken: `sim-${label}`, refreshToken: `refresh-${label}`, expiresAt };
    await catalogue.write((tx) =>
      fixture.editor.put(tx, { providerId: provider.id, label, kind: 'oauth-pool', secret }),
    );
  }
  await fixture.reload();
  return provider;
}

const eventsOf = async (provider: ProviderView): Promise<string[]> =>
  (await fixture.events.find({ provider: provider.name })).map(({ keyName, kind }) => `${keyName} ${kind}`);

async function expectEvents(provider: ProviderView, expected: readonly string[]): Promise<void> {
  let foundEvents: string[] = [];
  const poll = setInterval(() => void eventsOf(provider).then((found) => (foundEvents = found.sort())), 10);
  await until(() => JSON.stringify(foundEvents) === JSON.stringify(expected)).finally(() =>
    clearInterval(poll),
  );
}

const usedTokens = async (): Promise<string[]> =>
  (await simulator.requests())
    .map(({ headers }) => (headers.authorization ?? '').slice('Bearer '.length))
    .sort();

const nativeBody = { model: 'x', stream: true, store: false, input: [{ role: 'user', content: 'Hello' }] };

test('a call uses a token of the pool and returns it', async () => {
  const provider = await createPool({ one: expiringLater() });
  await simulator.clearRequests();
  const sentCall = await fixture.client.open(hold, callTo(provider, 'native', nativeBody), {});
  expect(sentCall).toMatchObject({ dialect: 'responses', dropped: [] });
  expect((await sentCall.exchange.head).status).toBe(200);
  expect((await sentCall.exchange.readBody()).toString()).toContain('response.completed');
  const [request] = await simulator.requests();
  expect(request?.headers.authorization).toBe('Bearer sim-one');
});

test('the token with the fewest calls is used, then the one idle the longest', async () => {
  const provider = await createPool({ one: expiringLater(), two: expiringLater(), three: expiringLater() });
  const leases = [];
  for (let n = 0; n < 6; n += 1) leases.push(await fixture.tokens.take(provider));
  const usedTokenTexts = leases.map(({ token }) => token.accessToken);
  expect([...usedTokenTexts.slice(0, 3)].sort()).toEqual(['sim-one', 'sim-three', 'sim-two']);
  expect(usedTokenTexts.slice(3)).toEqual(usedTokenTexts.slice(0, 3));
  leases[1]!.release();
  leases[1]!.release();
  expect((await fixture.tokens.take(provider)).token.accessToken).toBe(usedTokenTexts[1]);
});

test('an expiring token is renewed and stored once for concurrent callers', async () => {
  const provider = await createPool({ ending: expiringSoon() });
  const requestsBefore = issuer.bodies.length;
  const leases = await Promise.all(Array.from({ length: 20 }, () => fixture.tokens.take(provider)));
  expect(issuer.bodies.slice(requestsBefore)).toEqual([
    'grant_type=refresh_token&refresh_token=refresh-ending&client_id=agent',
  ]);
  const renewedToken = `sim-${issuedCount}`;
  expect(new Set(leases.map(({ token }) => token.accessToken))).toEqual(new Set([renewedToken]));
  await fixture.reload();
  expect(fixture.store.tokensOf(provider.id)[0]?.token).toMatchObject({
    accessToken: renewedToken,
    refreshToken: `refresh-${issuedCount}`,
  });
  expect((await fixture.tokens.take(provider)).token.accessToken).toBe(renewedToken);
  expect(issuer.bodies).toHaveLength(requestsBefore + 1);
  await expectEvents(provider, ['ending refreshed']);
});

test('two nodes renew a token only once', async () => {
  const provider = await createPool({ shared: expiringSoon() });
  const otherNode = new SupplierFixture(catalogue);
  await otherNode.reload();
  const requestsBefore = issuer.bodies.length;
  const [one, two] = await Promise.all([fixture.tokens.take(provider), otherNode.tokens.take(provider)]);
  expect(issuer.bodies).toHaveLength(requestsBefore + 1);
  expect(one.token.accessToken).toBe(two.token.accessToken);
  await otherNode.close();
});

test('a manually entered token replaces a renewed one', async () => {
  const provider = await createPool({ mine: expiringSoon() });
  await fixture.tokens.take(provider);
  const secret = { accessToken: 'sim-by-hand' };
  await catalogue.write((tx) =>
    fixture.editor.put(tx, { providerId: provider.id, label: 'mine', kind: 'oauth-pool', secret }),
  );
  await fixture.reload();
  expect((await fixture.tokens.take(provider)).token.accessToken).toBe('sim-by-hand');
});

test('a token that cannot be renewed is skipped, and its secrets appear in no event', async () => {
  const provider = await createPool({ broken: expiringSoon(), good: expiringLater() });
  isRefusing = true;
  const usedLeases = await Promise.all([fixture.tokens.take(provider), fixture.tokens.take(provider)]);
  expect(usedLeases.map(({ token }) => token.accessToken)).toEqual(['sim-good', 'sim-good']);
  await expectEvents(provider, ['broken refresh-failed']);
  const eventsText = JSON.stringify(await fixture.events.find({ provider: provider.name }));
  expect(eventsText).not.toMatch(/refresh-broken|sim-broken|canary/);
});

test('a rate-limited token pauses for its Retry-After time, which is returned when every token is limited', async () => {
  const provider = await createPool({ one: expiringLater(), two: expiringLater() });
  await simulator.addFault({
    times: 2,
    fault: { kind: 'status', status: 429, headers: { 'retry-after': '77' } },
  });
  await simulator.clearRequests();
  const sentCall = await fixture.client.open(hold, callTo(provider, 'native', nativeBody), {});
  const head = await sentCall.exchange.head;
  expect(sentCall.judge(head, await sentCall.exchange.readBody()).kind).toBe('rate_limit');
  expect(await usedTokens()).toEqual(['sim-one', 'sim-two']);
  await expect(fixture.client.open(hold, callTo(provider, 'native', nativeBody), {})).rejects.toMatchObject({
    code: 'supplier_limit',
    options: { retryAfterSeconds: 77 },
  });
  await expectEvents(provider, ['one limited', 'two limited']);
});

test('a rejected token is renewed immediately and used again', async () => {
  const provider = await createPool({ stale: expiringLater() });
  await simulator.addFault({ times: 1, fault: { kind: 'status', status: 401 } });
  const sentCall = await fixture.client.open(hold, callTo(provider, 'native', nativeBody), {});
  expect((await sentCall.exchange.head).status).toBe(401);
  await sentCall.exchange.readBody();
  await expectEvents(provider, ['stale refreshed', 'stale rejected']);
  const secondCall = await fixture.client.open(hold, callTo(provider, 'native', nativeBody), {});
  expect((await secondCall.exchange.head).status).toBe(200);
  await secondCall.exchange.readBody();
});

test('a call tries at most three tokens', async () => {
  const provider = await createPool({
    one: expiringLater(),
    two: expiringLater(),
    three: expiringLater(),
    four: expiringLater(),
  });
  await simulator.addFault({ fault: { kind: 'status', status: 401 } });
  await simulator.clearRequests();
  const sentCall = await fixture.client.open(hold, callTo(provider, 'native', nativeBody), {});
  expect((await sentCall.exchange.head).status).toBe(401);
  expect(await usedTokens()).toHaveLength(3);
});

test('a call aborted during a token change ends immediately and does not use the next token', async () => {
  // The newest token is used first.
  const provider = await createPool({ ending: expiringSoon(), one: expiringLater() });
  await simulator.addFault({ match: { key: 'sim-one' }, fault: { kind: 'status', status: 401 } });
  await simulator.clearRequests();
  const { promise, resolve: open } = Promise.withResolvers<void>();
  issuerReady = promise;
  const requestsBefore = issuer.bodies.length;
  const sentCall = await fixture.client.open(hold, callTo(provider, 'native', nativeBody), {});
  await until(() =>
    issuer.bodies.some((body, at) => at >= requestsBefore && body.includes('refresh-ending')),
  );
  const abortError = fault('stream_interrupted');
  sentCall.exchange.abort(abortError);
  await expect(sentCall.exchange.head).rejects.toBe(abortError);
  open();
  await expectEvents(provider, ['ending refreshed', 'one refreshed', 'one rejected']);
  expect(await usedTokens()).toEqual(['sim-one']);
});

test('a pool without tokens returns configuration_error', async () => {
  const provider = await createPool({});
  await expect(fixture.tokens.take(provider)).rejects.toMatchObject(errorWithCode('configuration_error'));
});
