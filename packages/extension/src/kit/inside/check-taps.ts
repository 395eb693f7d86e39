import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { House } from './house';
import { type Check, type Kit, Skipped, skippedUnless } from './kit';
import { sampleRecords } from './sample-requests';

const DEADLINE_MS = 60_000;
/** A sink that is away is away for longer than one attempt. */
const DOWN_MS = 1_500;

const tell = (kit: Kit, mode: string): void => writeFileSync(kit.plan.control, mode);

const deliveriesOf = (kit: Kit): readonly string[] =>
  existsSync(kit.plan.delivered) ? readFileSync(kit.plan.delivered, 'utf8').split('\n').filter(Boolean) : [];

/** The request, as every tap is to hear of it. */
async function settle(kit: Kit, house: House): Promise<readonly string[]> {
  const { status, headers, text } = await house.chat(kit.prompt);
  if (status !== 200) throw new Error(`a request was answered ${status}: ${text}`);
  return kit.facts().taps.map((tap) => `${tap} ${headers.get('x-request-id')}`);
}

async function mustArrive(kit: Kit, house: House, expected: readonly string[]): Promise<void> {
  for (let waited = 0; waited < DEADLINE_MS; waited += 100) {
    const found = new Set(deliveriesOf(kit));
    if (expected.every((line) => found.has(line))) return;
    await delay(100);
  }
  throw new Error(`${expected.join(', ')} never arrived; the service said: ${house.said.slice(-1_500)}`);
}

const tapCheck = (name: string, run: (kit: Kit, house: House) => Promise<void>): Check => ({
  topic: 'taps',
  name,
  skip: (kit) => skippedUnless(kit.facts().taps, 'it has no taps'),
  async run(kit) {
    const house = await kit.house();
    try {
      await run(kit, house);
    } finally {
      tell(kit, '');
    }
  },
});

/** A tap that is fulfilled although its records went nowhere has lost them. */
const sinkCheck: Check = {
  topic: 'taps',
  name: 'a delivery that its sink did not take is rejected',
  skip: (kit) => skippedUnless(kit.facts().taps, 'it has no taps'),
  async run(kit) {
    for (const [position, name] of kit.facts().taps.entries()) {
      let attempts = 0;
      for (const sink of ['away', 'refusing'] as const) {
        const values = [sampleRecords, '$signal'];
        const outcome = await kit.call({ path: ['taps', position, 'deliver'], values, sink });
        attempts += outcome.attempts;
        if (outcome.attempts > 0 && outcome.kind === 'returned')
          throw new Error(`${name} was fulfilled although its sink was ${sink}: its records are lost`);
      }
      if (attempts === 0) throw new Skipped(`${name} sends nothing by a port, fetch or a socket`);
    }
  },
};

const recordCheck: Check = {
  topic: 'taps',
  name: 'records with empty and with unknown fields are taken',
  skip: (kit) => skippedUnless(kit.facts().taps, 'it has no taps'),
  async run(kit) {
    for (const [position, name] of kit.facts().taps.entries()) {
      const path = ['taps', position, 'deliver'];
      const { kind, error = '' } = await kit.call({ path, values: [sampleRecords, '$signal'] });
      if (kind !== 'returned') throw new Error(`${name} did not take them: ${kind} ${error}`);
    }
  },
};

export const tapChecks: readonly Check[] = [
  sinkCheck,
  recordCheck,
  tapCheck('what was settled while the sink was away arrives afterwards', async (kit, house) => {
    tell(kit, 'down');
    const expected = [...(await settle(kit, house)), ...(await settle(kit, house))];
    await delay(DOWN_MS);
    await house.serves(kit.prompt);
    tell(kit, '');
    await mustArrive(kit, house, expected);
  }),
  tapCheck('the same records twice are taken', async (kit, house) => {
    tell(kit, 'twice');
    await mustArrive(kit, house, await settle(kit, house));
  }),
  tapCheck('what was delivered when the service was killed is delivered again', async (kit, house) => {
    tell(kit, 'stuck');
    const expected = await settle(kit, house);
    await mustArrive(kit, house, expected);
    tell(kit, '');
    const before = deliveriesOf(kit).length;
    const fresh = await kit.again(kit.extension.wrapper, 'killed');
    for (let waited = 0; deliveriesOf(kit).length === before && waited < DEADLINE_MS; waited += 100)
      await delay(100);
    if (deliveriesOf(kit).length === before) throw new Error('nothing was delivered again');
    await mustArrive(kit, fresh, await settle(kit, fresh));
  }),
];
