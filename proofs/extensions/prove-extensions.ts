import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Findings, inParallel, partsFromArguments, runProof } from '../../test/system/findings';
import { stopProgramsOnInterrupt, Program } from '../../test/system/program';
import { proveGates, proveMasks, proveRequests, proveVisits } from './hooks';
import { type RefusedStart, refusedStarts } from './refusals';
import { proveCommands, proveDirectories, proveJobs, proveTaps } from './parts';
import { proveMigrations } from './migrations';
import { provePages } from './pages';
import { proveStyles } from './styles';
import { FAULTY, PAGES, PARTS, STYLES, ExtensionTestbed } from './testbed';

const EXIT_CONFIGURATION = 78;

/** Each start is rejected before anything is opened, and the operator reads which extension is at fault. */
async function proveStarts(findings: Findings): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'switchboard-refused-'));
  const failures: string[] = [];
  const checkStart = async (start: RefusedStart): Promise<void> => {
    const startFolder = join(folder, String(refusedStarts.indexOf(start)));
    mkdirSync(startFolder);
    writeFileSync(join(startFolder, 'index.js'), start.module);
    const environment = {
      DATA_FOLDER: join(startFolder, 'data'),
      PORT: '0',
      METRICS_PORT: '0',
      NODE_ENV: 'test',
    };
    const list = { EXTENSIONS: `${startFolder}${start.suffix ?? ''}` };
    const { code, text } = await Program.node('bundle/main.js', [], { ...environment, ...list }).finish(
      60_000,
    );
    const namesExtension =
      text.includes('The extension faulty cannot be used') ||
      text.includes(`The extension ${startFolder} cannot`);
    if (code !== EXIT_CONFIGURATION || !namesExtension || !text.includes(start.says))
      failures.push(`${start.fault}: it ended with ${code}: ${text.slice(0, 400)}`);
  };
  await inParallel(2, refusedStarts, checkStart);
  rmSync(folder, { recursive: true, force: true });
  findings.addCases(
    'starts',
    refusedStarts.length,
    failures.length,
    failures.length === 0 ? undefined : failures.join('\n'),
  );
}

/** No record is lost or wrong in the books. */
async function proveBooks(findings: Findings, testbed: ExtensionTestbed): Promise<void> {
  const { node, folder, servedCount: served } = testbed;
  findings.expectNoneWrong(
    'plain requests beside the faults were answered and paid for',
    served,
    0,
    String(served),
  );
  findings.add('the books hold', (await node.discrepancies()) === 0);
  const file = join(folder, 'audit.jsonl');
  const exportResult = await node.command('audit:export', file, '--platform');
  const verifyResult = await node.command('audit:verify', file);
  findings.add(
    'the audit chain holds',
    exportResult.code === 0 && verifyResult.code === 0,
    verifyResult.text.slice(-300),
  );
}

type Prove = (findings: Findings, testbed: ExtensionTestbed) => Promise<void>;

/** Testbeds with their extensions and the proofs that use them. */
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

/** Proves faults of extensions at every hook: the service continues, names the extension and loses nothing. */
async function main(): Promise<void> {
  const findings = new Findings('prove:extensions');
  const selectedParts = partsFromArguments([
    'starts',
    'migrations',
    ...testbeds.flatMap(({ parts }) => Object.keys(parts)),
  ]);
  stopProgramsOnInterrupt();
  if (selectedParts.includes('starts')) await proveStarts(findings);
  if (selectedParts.includes('migrations')) await proveMigrations(findings);
  for (const { extensions, parts } of testbeds) {
    const proofs = Object.entries(parts).filter(([name]) => selectedParts.includes(name));
    if (proofs.length === 0) continue;
    const testbed = await ExtensionTestbed.open(extensions);
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
