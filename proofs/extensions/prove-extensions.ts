import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Findings, inParallel, partsGiven, runProof } from '../../test/system/findings';
import { endWithThisProcess, Program } from '../../test/system/program';
import { proveGates, proveMasks, proveRequests, proveVisits } from './hooks';
import { type RefusedStart, refusedStarts } from './refusals';
import { proveCommands, proveDirectories, proveJobs, proveTaps } from './parts';
import { proveMigrations } from './migrations';
import { provePages } from './pages';
import { proveStyles } from './styles';
import { FAULTY, PAGES, PARTS, STYLES, Testbed } from './testbed';

const EXIT_CONFIGURATION = 78;

/** Each is refused before anything is opened, and the operator reads who is at fault. */
async function proveStarts(findings: Findings): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'switchboard-refused-'));
  const wrong: string[] = [];
  const look = async (start: RefusedStart): Promise<void> => {
    const place = join(folder, String(refusedStarts.indexOf(start)));
    mkdirSync(place);
    writeFileSync(join(place, 'index.js'), start.module);
    const environment = { DATA_FOLDER: join(place, 'data'), PORT: '0', METRICS_PORT: '0', NODE_ENV: 'test' };
    const list = { EXTENSIONS: `${place}${start.suffix ?? ''}` };
    const { code, text } = await Program.node('bundle/main.js', [], { ...environment, ...list }).finish(
      60_000,
    );
    const isNamed =
      text.includes('The extension faulty cannot be used') || text.includes(`The extension ${place} cannot`);
    if (code !== EXIT_CONFIGURATION || !isNamed || !text.includes(start.says))
      wrong.push(`${start.fault}: it ended with ${code}: ${text.slice(0, 400)}`);
  };
  await inParallel(2, refusedStarts, look);
  rmSync(folder, { recursive: true, force: true });
  findings.many(
    'starts',
    refusedStarts.length,
    wrong.length,
    wrong.length === 0 ? undefined : wrong.join('\n'),
  );
}

/** Nothing of what happened is lost or wrong in the books. */
async function proveBooks(findings: Findings, testbed: Testbed): Promise<void> {
  const { node, folder, served } = testbed;
  findings.over('plain requests beside the faults were answered and paid for', served, 0, String(served));
  findings.add('the books hold', (await node.discrepancies()) === 0);
  const file = join(folder, 'audit.jsonl');
  const exported = await node.command('audit:export', file, '--platform');
  const verified = await node.command('audit:verify', file);
  findings.add(
    'the audit chain holds',
    exported.code === 0 && verified.code === 0,
    verified.text.slice(-300),
  );
}

type Prove = (findings: Findings, testbed: Testbed) => Promise<void>;

/** Each has its extensions, and what is tried with them. */
const testbeds: readonly {
  readonly extensions: readonly string[];
  readonly parts: Readonly<Record<string, Prove>>;
}[] = [
  {
    extensions: [FAULTY],
    parts: { requests: proveRequests, visits: proveVisits, gates: proveGates, masks: proveMasks },
  },
  {
    extensions: [PARTS, STYLES, PAGES],
    parts: {
      commands: proveCommands,
      directories: proveDirectories,
      pages: provePages,
      styles: proveStyles,
      jobs: proveJobs,
      taps: proveTaps,
    },
  },
];

/** Faults of extensions at every hook: the service goes on, names who is at fault, and loses nothing. */
async function main(): Promise<void> {
  const findings = new Findings('prove:extensions');
  const wanted = partsGiven(['starts', 'migrations', ...testbeds.flatMap(({ parts }) => Object.keys(parts))]);
  endWithThisProcess();
  if (wanted.includes('starts')) await proveStarts(findings);
  if (wanted.includes('migrations')) await proveMigrations(findings);
  for (const { extensions, parts } of testbeds) {
    const proofs = Object.entries(parts).filter(([name]) => wanted.includes(name));
    if (proofs.length === 0) continue;
    const testbed = await Testbed.open(extensions);
    try {
      for (const [, prove] of proofs) await prove(findings, testbed);
      await proveBooks(findings, testbed);
    } finally {
      await testbed.close();
    }
  }
  findings.end();
}

runProof(main);
