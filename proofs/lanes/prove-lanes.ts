import { join } from 'node:path';
import { type SpawnedSimulator, spawnSimulator } from '../../test/support/simulator';
import { Findings, runProof } from '../../test/system/findings';
import { startGateway } from '../../test/system/gateway';
import type { GatewayFile, ProofNode } from '../../test/system/node';
import { installPackages } from '../../test/system/packages';
import { stopProgramsOnInterrupt, Program, projectFolder } from '../../test/system/program';

/**
 * Moves conversations of the vendors' official SDKs between lanes, in every order. Each lane is a supplier account that
 * rejects what vendors reject: reasoning of another account, unsigned or from another conversation, foreign ids, and
 * tool rounds without reasoning.
 */
const lanes = {
  'anthropic-a': { style: 'messages-style', profile: 'anthropic' },
  'anthropic-b': { style: 'messages-style', profile: 'anthropic' },
  kimi: { style: 'openai-style', profile: 'generic' },
  'openai-a': { style: 'openai-style', profile: 'openai' },
  'openai-b': { style: 'openai-style', profile: 'openai' },
} as const;
type ProofLane = keyof typeof lanes;

const names = Object.keys(lanes) as ProofLane[];
const MODEL = 'a-model';
const DEADLINE_MS = 15 * 60_000;
const scriptFolder = join(projectFolder, 'proofs', 'lanes');

type LaneSuppliers = Readonly<Record<ProofLane, SpawnedSimulator>>;

const catalogueOf = (suppliers: LaneSuppliers): GatewayFile => ({
  providers: Object.fromEntries(
    names.map((name) => [
      name,
      {
        style: lanes[name].style,
        base_url: suppliers[name].url,
        regions: [name],
        api_key: '${SUPPLIER_KEY}',
        settings: { profile: lanes[name].profile },
      },
    ]),
  ),
  models: {
    [MODEL]: {
      max_output_tokens: 8_000,
      capabilities: ['reasoning', 'tools', 'vision'],
      price: { input: 1, output: 2 },
      lanes: names.map((name) => ({ provider: name, model: 'sim-reason', region: name })),
    },
  },
});

async function startSupplier(name: ProofLane): Promise<[ProofLane, SpawnedSimulator]> {
  return [name, await spawnSimulator(['--account', name, '--ring', '50000', '--roles', 'lenient'])];
}

/** A number as the only argument runs every chain with that distance instead of all chains. */
const step = process.argv[2] ?? '1';

async function prove({ url, keys }: ProofNode, suppliers: LaneSuppliers): Promise<Findings> {
  const findings = new Findings('prove:lanes');
  const { code, output, complaint, late } = await Program.run(
    process.execPath,
    [join(scriptFolder, 'chains.mjs')],
    {
      PATH: process.env.PATH ?? '',
      GATEWAY_URL: url,
      GATEWAY_KEY: keys.demo,
      MODEL,
      STEP: step,
      LANES: JSON.stringify(names.map((name) => ({ name, controlUrl: suppliers[name].controlUrl }))),
    },
    { folder: scriptFolder, isLeader: true, isKept: true },
  ).finish(DEADLINE_MS);
  const lines = output.split('\n').filter((text) => text.startsWith('{'));
  for (const line of lines) {
    const { client, what, fault } = JSON.parse(line) as {
      client: string;
      what: string;
      fault: string | null;
    };
    findings.add(`${client} · ${what}`, fault === null, fault ?? '');
  }
  const outcome = code !== 0 ? (late ? 'too late' : complaint) : lines.length === 0 ? 'there was none' : null;
  findings.add('the chains · came to their end', outcome === null, outcome ?? '');
  for (const name of names) {
    const requests = await suppliers[name].requests();
    const rejections = requests.flatMap(({ status, path }) =>
      Number(status) >= 400 ? [`${status} ${path}`] : [],
    );
    findings.add(`${name} · refused nothing`, rejections.length === 0, rejections.slice(0, 5).join(', '));
  }
  return findings;
}

async function main(): Promise<void> {
  stopProgramsOnInterrupt();
  await installPackages('proofs/lanes', "the vendors' packages (a few MB)");
  const gateway = await startGateway({ SUPPLIER_KEY: 'sim-lanes' });
  try {
    const suppliers = Object.fromEntries(await Promise.all(names.map(startSupplier))) as LaneSuppliers;
    await gateway.node.apply(catalogueOf(suppliers));
    (await prove(gateway.node, suppliers)).end();
    for (const supplier of Object.values(suppliers)) await supplier.stop();
  } finally {
    await gateway.stop();
  }
}

runProof(main);
