import { shouldRunSandbox } from '#inside/boot/sandbox';
import { ensureSandbox, type ProviderView, removeSandbox, retireSandbox } from '#product/catalogue';
import { loadSettings } from '#product/platform';
import { CommandFixture } from '../commands/command-fixture';

const provider = (style: string, visible = true) => ({ style, visible }) as ProviderView;
const settings = (environment: Record<string, string>) =>
  loadSettings({ NODE_ENV: 'test', DATA_FOLDER: '/tmp/switchboard-sandbox-test', ...environment });
const SECRETS = {
  SESSION_SECRET: 'a secret of the tests, long enough for anybody',
  KEY_PEPPER: 'a pepper of the tests, long enough for anybody',
  MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
};

describe('The sandbox supplier', () => {
  test.each([
    ['on an embedded database without a supplier', {}, [], true],
    ['while there is none but itself', {}, [provider('sandbox')], true],
    ['while every other one is hidden', {}, [provider('openai-style', false)], true],
    ['no longer beside a real one', {}, [provider('sandbox'), provider('openai-style')], false],
    ['beside a real one when it is told to', { SANDBOX: 'on' }, [provider('openai-style')], true],
    ['never when it is told not to', { SANDBOX: 'off' }, [], false],
    ['never on a database of its own unasked', { DATABASE_URL: 'postgres://x@127.0.0.1/x' }, [], false],
  ])('runs %s: %#', (_, environment, providers, wanted) => {
    expect(shouldRunSandbox(settings({ ...SECRETS, ...environment }), providers)).toBe(wanted);
  });
});

describe('A disabled sandbox', () => {
  let fixture: CommandFixture;
  beforeAll(async () => {
    fixture = await CommandFixture.open();
  });
  afterAll(() => fixture.close());

  const openLanes = async () => (await fixture.snapshot()).models.flatMap(({ lanes }) => lanes).length;

  test('serves no models until it is enabled again', async () => {
    await fixture.database.transaction((tx) => ensureSandbox(tx, 'https://sandbox.example'));
    const servedLanes = await openLanes();
    expect(servedLanes).toBeGreaterThan(5);
    expect(await fixture.database.transaction((tx) => retireSandbox(tx))).toBe(true);
    expect(await openLanes()).toBe(0);
    expect(await fixture.database.transaction((tx) => retireSandbox(tx))).toBe(false);
    await fixture.database.transaction((tx) => ensureSandbox(tx, 'https://sandbox.example'));
    expect(await openLanes()).toBe(servedLanes);
  });

  test('is restored completely after a removal when it is enabled again', async () => {
    const servedLanes = await openLanes();
    const { models } = await fixture.database.transaction((tx) => removeSandbox(tx));
    expect([models.length > 5, await openLanes()]).toEqual([true, 0]);
    await fixture.database.transaction((tx) => ensureSandbox(tx, 'https://sandbox.example'));
    expect(await openLanes()).toBe(servedLanes);
    expect((await fixture.snapshot()).models.every(({ state }) => state === 'active')).toBe(true);
  });
});
