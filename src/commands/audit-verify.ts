import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { chainName, type Finding, headsIn, type ExportVerification, verifyExport } from '../audit';
import { monotonicMs } from '../kernel';
import { type CliCommand, type CliContext, UsageError } from './command';

const CHUNK_BYTES = 1_024 * 1_024;
const MAX_LISTED = 1_000;

export const auditVerify: CliCommand = {
  usage: 'audit:verify FILE [--key PUBLIC-KEY]… [--anchor FILE]',
  summary:
    'Checks an export of "audit:export" without the installation: says which entries were edited, removed, put in or ' +
    'moved, and which blocks. --key names the only keys that may sign, --anchor an anchor.jsonl that was kept elsewhere.',
  async run(argv, context) {
    const { file, keys, anchor } = optionsOf(argv);
    const heads = anchor === undefined ? [] : headsIn(await readFile(anchor, 'utf8'));
    if (anchor !== undefined && heads.length === 0) throw new Error(`${anchor} holds no heads.`);
    const verify = (everySignature: boolean): Promise<ExportVerification> =>
      verifyExport(createReadStream(file, { highWaterMark: CHUNK_BYTES }), {
        everySignature,
        anchor: heads,
        ...(keys.length === 0 ? {} : { keys }),
      });
    const startedMs = monotonicMs();
    const result = await verify(false);
    const seconds = (monotonicMs() - startedMs) / 1_000;
    // A fault is found quickly; locating it requires verifying every signature.
    report(result.count === 0 ? result : await verify(true), seconds, context);
    return result.count === 0 ? 0 : 1;
  },
};

function optionsOf(argv: string[]): { file: string; keys: Buffer[]; anchor: string | undefined } {
  const { values, positionals } = parseArgs({
    args: argv,
    allowPositionals: true,
    options: { key: { type: 'string', multiple: true }, anchor: { type: 'string' } },
  });
  const [file, ...others] = positionals;
  if (file === undefined || others.length > 0) throw new UsageError('Name the one file to verify.');
  const keys = (values.key ?? []).map((text) => {
    const key = Buffer.from(text, 'base64url');
    if (key.length !== 32) throw new UsageError('--key takes a public key as "audit:export" prints it.');
    return key;
  });
  return { file, keys, anchor: values.anchor };
}

function report(result: ExportVerification, seconds: number, context: CliContext): void {
  const write = (text: string): void => context.write(text);
  for (const finding of result.findings.slice(0, MAX_LISTED)) write(`${findingText(finding)}\n`);
  if (result.count > MAX_LISTED) write(`… and ${result.count - MAX_LISTED} more\n`);
  const number = (value: number): string => value.toLocaleString('en');
  const { entries, blocks, emptyBlocks, chains, signers, madeAt } = result;
  if (emptyBlocks > 0) write(`Retention has emptied ${number(emptyBlocks)} blocks; their heads are here.\n`);
  write(`Made at ${madeAt ?? 'an unknown time'}, signed by ${signers.join(', ') || 'nobody'}.\n`);
  write(
    `audit:verify: ${number(entries)} entries in ${number(blocks)} blocks of ${number(chains)} chains, ` +
      `${number(Math.round(entries / Math.max(seconds, 0.001)))} entries/s: ` +
      `${result.count === 0 ? 'all as they were sealed' : `${number(result.count)} findings`}\n`,
  );
}

function findingText(finding: Finding): string {
  const { kind, chain, block, lastBlock, entry, line, detail } = finding;
  const blocks =
    lastBlock === undefined || lastBlock === block ? `block ${block}` : `blocks ${block} to ${lastBlock}`;
  const position = [
    ...(entry === undefined ? [] : [`entry ${entry}`]),
    ...(block === undefined ? [] : [blocks]),
    ...(chain === undefined ? [] : [chainName(chain)]),
    ...(line === undefined ? [] : [`line ${line}`]),
  ].join(', ');
  return `${meanings[kind].padEnd(24)} ${position}${detail === undefined ? '' : ` (${detail})`}`;
}

const meanings: Readonly<Record<Finding['kind'], string>> = {
  edited: 'ENTRY EDITED',
  missing: 'ENTRY MISSING',
  inserted: 'ENTRY PUT IN',
  moved: 'ENTRY MOVED',
  head: 'HEAD ALTERED',
  list: 'LIST ALTERED',
  fork: 'BLOCK DOES NOT FOLLOW',
  'block-missing': 'BLOCK MISSING',
  'block-moved': 'BLOCK MOVED',
  'block-inserted': 'BLOCK PUT IN',
  cut: 'END CUT OFF',
  emptied: 'EMPTIED, NOT ON RECORD',
  unreadable: 'UNREADABLE',
  export: 'FIRST LINE ALTERED',
};
