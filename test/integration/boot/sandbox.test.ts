import { shouldRunSandbox } from '#inside/boot/sandbox';
import { ensureSandbox, type ProviderView, removeSandbox, retireSandbox } from '#product/catalogue';
import { loadSettings } from '#product/platform';
import { CommandHouse } from '../commands/command-house';

const provider = (style: string, visible = true) => ({ style, visible }) as ProviderView;
const settings = (environment: Record<string, string>) =>
  loadSettings({ NODE_ENV: 'test', DATA_FOLDER: '/tmp/switchboard-sandbox-test', ...environment });
const SECRETS = {
  SESSION_SECRET: 'a secret of the tests, long enough for anybody',
  KEY_PEPPER: 'a pepper of the tests, long enough for anybody',
  MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
};

describe('the pretend supplier runs', () => {
  test.each([
    ['on an embedded database without a supplier', {}, [], true],
    ['while there is none but itself', {}, [provider('sandbox')], true],
    ['while every other one is hidden', {}, [provider('openai-style', false)], true],
    ['no longer beside a real one', {}, [provider('sandbox'), provider('openai-style')], false],
    ['beside a real one when it is told to', { SANDBOX: 'on' }, [provider('openai-style')], true],
    ['never when it is told not to', { SANDBOX: 'off' }, [], false],
    ['never on a database of its own unasked', { DATABASE_URL: 'postgres://x@127.0.0.1/x' }, [], false],
  ])('%s: %#', (_, environment, providers, wanted) => {
    expect(shouldRunSandbox(settings({ ...SECRETS, ...environment }), providers)).toBe(wanted);
  });
});

describe('once it runs no longer', () => {
  let house: CommandHouse;
  beforeAll(async () => {
    house = await CommandHouse.open();
  });
  afterAll(() => house.close());

  const openLanes = async () => (await house.snapshot()).models.flatMap(({ lanes }) => lanes).length;

  test('its models are served no longer, and are again when it comes back', async () => {
    await house.database.transaction((tx) => ensureSandbox(tx, 'https://sandbox.example'));
    const served = await openLanes();
    expect(served).toBeGreaterThan(5);
    expect(await house.database.transaction((tx) => retireSandbox(tx))).toBe(true);
    expect(await openLanes()).toBe(0);
    expect(await house.database.transaction((tx) => retireSandbox(tx))).toBe(false);
    await house.database.transaction((tx) => ensureSandbox(tx, 'https://sandbox.example'));
    expect(await openLanes()).toBe(served);
  });

  test('what was removed comes back whole when the sandbox is wanted again', async () => {
    const served = await openLanes();
    const { models } = await house.database.transaction((tx) => removeSandbox(tx));
    expect([models.length > 5, await openLanes()]).toEqual([true, 0]);
    await house.database.transaction((tx) => ensureSandbox(tx, 'https://sandbox.example'));
    expect(await openLanes()).toBe(served);
    expect((await house.snapshot()).models.every(({ state }) => state === 'active')).toBe(true);
  });
});
