import { parseJsonText } from '../../../kernel';
import {
  BLOCK_VERSION,
  type BlockList,
  bytesOf,
  digestOfHead,
  digestOfLine,
  HASH_BYTES,
  readHead,
  type SignedHead,
} from '../block';
import { BLOCK_MARK, EXPORT_FORMAT, EXPORT_MARK } from '../chain-export';
import { isSignedBy } from '../sealing-key';
import { BlockEntries, type MissingEntry, type StrayLine } from './block-entries';
import { ChainCheck } from './chain-check';
import { type Finding, Findings } from './findings';
import { matchStrays } from './match-strays';

export interface ExportVerifyOptions {
  /** Trusted public keys; if omitted, every key is accepted and reported. */
  readonly keys?: readonly Buffer[];
  readonly anchor?: readonly SignedHead[];
  /**
   * Verifies every signature, which locates a fault. Otherwise only the last signature of a chain is verified, because
   * the hashes tie all earlier blocks to it.
   */
  readonly everySignature: boolean;
}

export interface ExportVerification {
  readonly findings: readonly Finding[];
  /** Total number of findings, which can exceed the list. */
  readonly count: number;
  readonly entries: number;
  readonly blocks: number;
  readonly emptyBlocks: number;
  readonly chains: number;
  readonly signers: readonly string[];
  readonly madeAt: string | null;
}

const LINE_FEED = 10;

export async function verifyExport(
  chunks: AsyncIterable<Uint8Array>,
  options: ExportVerifyOptions,
): Promise<ExportVerification> {
  const reader = new ExportReader(options);
  let rest = Buffer.alloc(0);
  for await (const chunk of chunks) {
    const bytes = rest.length === 0 ? Buffer.from(chunk) : Buffer.concat([rest, chunk]);
    let from = 0;
    for (let to = bytes.indexOf(LINE_FEED); to !== -1; to = bytes.indexOf(LINE_FEED, from)) {
      reader.takeLine(bytes.subarray(from, to));
      from = to + 1;
    }
    rest = bytes.subarray(from);
  }
  if (rest.length > 0) reader.takeUnterminated(rest);
  return reader.finish();
}

class ExportReader {
  private readonly findings = new Findings();
  private readonly chains = new Map<number, ChainCheck>();
  private readonly signers = new Set<string>();
  private readonly strays: StrayLine[] = [];
  private readonly missingEntries: MissingEntry[] = [];
  /** Retentions declared by the current block's lines; they count only if the lines are sealed. */
  private readonly forgotten: { readonly line: number; readonly upTo: number }[] = [];
  private readonly knownHeads: Map<number, SignedHead[]>;
  /** Chains named by the first line; null if the first line is not trusted, so that no chain counts as foreign. */
  private listedChains: ReadonlySet<number> | null = null;
  private current: { readonly head: SignedHead; readonly entries: BlockEntries | null } | null = null;
  private line = 0;
  private entries = 0;
  private blocks = 0;
  private emptyBlocks = 0;
  private madeAt: string | null = null;

  constructor(private readonly options: ExportVerifyOptions) {
    this.knownHeads = Map.groupBy(options.anchor ?? [], ({ chain }) => chain);
  }

  takeLine(line: Buffer): void {
    this.line += 1;
    if (this.line === 1) return this.takeFirst(line);
    if (line.subarray(0, BLOCK_MARK.length).equals(blockMark)) return this.takeBlock(line);
    this.entries += 1;
    const entries = this.current?.entries ?? null;
    if (entries === null) return this.findings.add({ kind: 'inserted', line: this.line });
    entries.add(line, this.line);
    if (line.includes(forgottenMark)) this.takeForgotten(line);
  }

  /** An export ends with a line feed, so anything after the last one is not a line. */
  takeUnterminated(line: Buffer): void {
    this.takeLine(line);
    this.findings.add({ kind: 'unreadable', line: this.line, detail: 'the last line does not end' });
  }

  finish(): ExportVerification {
    if (this.line === 0) this.findings.add({ kind: 'export', line: 1, detail: 'the file is empty' });
    this.closeBlock();
    for (const chain of this.knownHeads.keys()) this.chainOf(chain);
    for (const [chain, check] of this.chains) {
      const { end } = check;
      if (end !== null && !this.isSigned(end)) this.findings.add({ kind: 'head', chain, block: end.number });
      if (this.listedChains?.has(chain) === false)
        this.findings.add({
          kind: 'block-inserted',
          chain,
          detail: 'the first line does not name this chain',
        });
      check.finish();
    }
    matchStrays(this.strays, this.missingEntries, this.findings);
    const { entries, blocks, emptyBlocks, madeAt } = this;
    const { list: findings, count } = this.findings;
    const signers = [...this.signers];
    return { findings, count, entries, blocks, emptyBlocks, chains: this.chains.size, signers, madeAt };
  }

  private takeFirst(line: Buffer): void {
    const first = readFirst(line);
    if (first === null || !this.isTrusted(first.signer))
      return this.findings.add({ kind: 'export', line: this.line });
    this.signers.add(first.signer.toString('base64url'));
    this.madeAt = first.madeAt;
    this.listedChains = new Set(first.heads.map(({ chain }) => chain));
    for (const head of first.heads)
      this.knownHeads.set(head.chain, [...(this.knownHeads.get(head.chain) ?? []), head]);
  }

  private takeBlock(line: Buffer): void {
    this.closeBlock();
    this.blocks += 1;
    const block = readBlock(line);
    if (block === null) {
      this.current = null;
      return this.findings.add({ kind: 'unreadable', line: this.line });
    }
    const { head, list } = block;
    this.signers.add(head.signer.toString('base64url'));
    const check = this.chainOf(head.chain);
    if (this.options.everySignature && !this.isSigned(head)) {
      this.findings.add({ kind: 'head', chain: head.chain, block: head.number, line: this.line });
      check.skip(head);
    } else check.take(head, this.line);
    if (list === null) {
      this.emptyBlocks += 1;
      check.addEmptied(head.number);
    }
    this.current = { head, entries: list === null ? null : new BlockEntries(head, list) };
  }

  private takeForgotten(line: Buffer): void {
    try {
      const entry = parseJsonText(line.toString('utf8')) as Record<string, unknown>;
      const changes = entry['changes'] as Record<string, unknown[]> | null;
      const upTo = Number(changes?.['blocks_up_to']?.[1]);
      if (entry['action'] === 'log.forgotten') this.forgotten.push({ line: this.line, upTo });
    } catch {
      // The comparison with the list reports the line.
    }
  }

  private closeBlock(): void {
    const { current } = this;
    const entries = current?.entries ?? null;
    if (current === null || entries === null) return;
    const isSealed = entries.check(this.findings, this.strays, this.missingEntries);
    for (const { line, upTo } of this.forgotten)
      if (isSealed(line)) this.chainOf(current.head.chain).addRetention(upTo);
    this.forgotten.length = 0;
  }

  private chainOf(chain: number): ChainCheck {
    const existing = this.chains.get(chain);
    if (existing !== undefined) return existing;
    const check = new ChainCheck(chain, this.knownHeads.get(chain) ?? [], this.findings);
    this.chains.set(chain, check);
    return check;
  }

  private isSigned(head: SignedHead): boolean {
    return this.isTrusted(head.signer) && isSignedBy(head.signer, digestOfHead(head), head.signature);
  }

  private isTrusted(signer: Buffer): boolean {
    const { keys } = this.options;
    return keys === undefined || keys.some((key) => key.equals(signer));
  }
}

const blockMark = Buffer.from(BLOCK_MARK);
const forgottenMark = Buffer.from('"log.forgotten"');

interface FirstLine {
  readonly signer: Buffer;
  readonly madeAt: string;
  readonly heads: readonly SignedHead[];
}

/** Returns null unless the signature covers the complete content of the line. */
function readFirst(line: Buffer): FirstLine | null {
  const text = line.toString('utf8');
  const [, content, signature = ''] = /^\{"export":(\{.*\}),"signature":"([\w-]{86})"\}$/.exec(text) ?? [];
  if (content === undefined || !text.startsWith(EXPORT_MARK)) return null;
  try {
    const fields = parseJsonText(content) as Record<string, unknown>;
    const signer = bytesOf(fields['signer'], HASH_BYTES);
    const bytes = bytesOf(signature, 64);
    if (!isSignedBy(signer, digestOfLine(Buffer.from(content)), bytes)) return null;
    if (fields['format'] !== EXPORT_FORMAT || !Array.isArray(fields['heads'])) return null;
    const heads = fields['heads'].map(readHead).filter((head) => head !== null);
    return { signer, madeAt: String(fields['made_at']), heads };
  } catch {
    return null;
  }
}

/** Returns null unless the line is byte for byte as an export writes it. */
function readBlock(line: Buffer): { head: SignedHead; list: BlockList | null } | null {
  try {
    const text = line.toString('utf8');
    const { block } = parseJsonText(text) as { block: Record<string, unknown> };
    if (`${BLOCK_MARK}${JSON.stringify(block)}}` !== text) return null;
    const { entries, digests, ...headFields } = block;
    const head = readHead(headFields);
    if (head?.version !== BLOCK_VERSION) return null;
    if (entries === undefined && digests === undefined) return { head, list: null };
    if (!Array.isArray(entries) || !Array.isArray(digests) || entries.length !== digests.length) return null;
    if (!entries.every(Number.isSafeInteger)) return null;
    return {
      head,
      list: { entries: entries.map(Number), digests: digests.map((digest) => bytesOf(digest, HASH_BYTES)) },
    };
  } catch {
    return null;
  }
}
