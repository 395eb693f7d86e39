import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { ServiceProcess } from './service-process';
import { type KitCheck, type Kit, Skipped, skippedUnless } from './kit';
import { sampleRecords } from './sample-requests';

const DEADLINE_MS = 60_000;
/** Outage longer than one delivery attempt. */
const DOWN_MS = 1_500;

const setMode = (kit: Kit, mode: string): void => writeFileSync(kit.plan.control, mode);

const deliveriesOf = (kit: Kit): readonly string[] =>
  existsSync(kit.plan.delivered) ? readFileSync(kit.plan.delivered, 'utf8').split('\n').filter(Boolean) : [];

async function settle(kit: Kit, service: ServiceProcess): Promise<readonly string[]> {
  const { status, headers, text } = await service.chat(kit.prompt);
  if (status !== 200) throw new Error(`a request was answered ${status}: ${text}`);
  return kit.contributions().taps.map((tap) => `${tap} ${headers.get('x-request-id')}`);
}

async function mustArrive(kit: Kit, service: ServiceProcess, expected: readonly string[]): Promise<void> {
  for (let waited = 0; waited < DEADLINE_MS; waited += 100) {
    const delivered = new Set(deliveriesOf(kit));
    if (expected.every((line) => delivered.has(line))) return;
    await delay(100);
  }
  throw new Error(`${expected.join(', ')} never arrived; the service said: ${service.output.slice(-1_500)}`);
}

const tapCheck = (name: string, run: (kit: Kit, service: ServiceProcess) => Promise<void>): KitCheck => ({
  topic: 'taps',
  name,
  skip: (kit) => skippedUnless(kit.contributions().taps, 'it has no taps'),
  async run(kit) {
    const service = await kit.service();
    try {
      await run(kit, service);
    } finally {
      setMode(kit, '');
    }
  },
});

/** A tap that resolves although its records went nowhere has lost them. */
const sinkCheck: KitCheck = {
  topic: 'taps',
  name: 'a delivery that its sink did not take is rejected',
  skip: (kit) => skippedUnless(kit.contributions().taps, 'it has no taps'),
  async run(kit) {
    for (const [position, name] of kit.contributions().taps.entries()) {
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

const recordCheck: KitCheck = {
  topic: 'taps',
  name: 'records with empty and with unknown fields are taken',
  skip: (kit) => skippedUnless(kit.contributions().taps, 'it has no taps'),
  async run(kit) {
    for (const [position, name] of kit.contributions().taps.entries()) {
      const path = ['taps', position, 'deliver'];
      const { kind, error = '' } = await kit.call({ path, values: [sampleRecords, '$signal'] });
      if (kind !== 'returned') throw new Error(`${name} did not take them: ${kind} ${error}`);
    }
  },
};

export const tapChecks: readonly KitCheck[] = [
  sinkCheck,
  recordCheck,
  tapCheck('what was settled while the sink was away arrives afterwards', async (kit, service) => {
    setMode(kit, 'down');
    const expected = [...(await settle(kit, service)), ...(await settle(kit, service))];
    await delay(DOWN_MS);
    await service.mustServe(kit.prompt);
    setMode(kit, '');
    await mustArrive(kit, service, expected);
  }),
  tapCheck('the same records twice are taken', async (kit, service) => {
    setMode(kit, 'twice');
    await mustArrive(kit, service, await settle(kit, service));
  }),
  tapCheck('what was delivered when the service was killed is delivered again', async (kit, service) => {
    setMode(kit, 'stuck');
    const expected = await settle(kit, service);
    await mustArrive(kit, service, expected);
    setMode(kit, '');
    const before = deliveriesOf(kit).length;
    const restarted = await kit.restart(kit.extension.wrapper, 'killed');
    for (let waited = 0; deliveriesOf(kit).length === before && waited < DEADLINE_MS; waited += 100)
      await delay(100);
    if (deliveriesOf(kit).length === before) throw new Error('nothing was delivered again');
    await mustArrive(kit, restarted, await settle(kit, restarted));
  }),
];
