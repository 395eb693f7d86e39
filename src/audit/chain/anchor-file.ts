import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { parseJsonText } from '../../kernel';
import { readHead, type SignedHead, serialiseHead } from './block';

const EVIDENCE_PREFIX = 'anchor-contradicted-';

const MAX_FILE_BYTES = 8 * 1_024 * 1_024;

/**
 * Newest heads that this machine has seen, outside the database: changing the past there means changing this file too.
 * Append-only; the last line of a chain counts.
 */
export class AnchorFile {
  private readonly newest = new Map<number, SignedHead>();
  private bytes = 0;

  private constructor(readonly path: string) {}

  /** A missing file starts empty; unreadable lines, such as one cut off by a crash, are skipped. */
  static open(dataFolder: string): AnchorFile {
    const anchor = new AnchorFile(join(dataFolder, 'audit', 'anchor.jsonl'));
    if (existsSync(anchor.path)) anchor.load();
    return anchor;
  }

  get heads(): ReadonlyMap<number, SignedHead> {
    return this.newest;
  }

  add(heads: readonly SignedHead[]): void {
    const newHeads = heads.filter((head) => head.number > (this.newest.get(head.chain)?.number ?? 0));
    if (newHeads.length === 0) return;
    for (const head of newHeads) this.newest.set(head.chain, head);
    if (this.bytes > MAX_FILE_BYTES) return this.rewrite();
    this.bytes += append(this.path, newHeads);
  }

  /** Quarantines the file as evidence and starts a new one. Returns the path of the evidence. */
  quarantine(now: Date): string {
    const evidencePath = join(
      dirname(this.path),
      `${EVIDENCE_PREFIX}${now.toISOString().replaceAll(/[:.]/g, '-')}.jsonl`,
    );
    renameSync(this.path, evidencePath);
    this.newest.clear();
    this.bytes = 0;
    return evidencePath;
  }

  evidence(): SignedHead[] {
    const folder = dirname(this.path);
    const names = existsSync(folder) ? readdirSync(folder) : [];
    return names
      .filter((name) => name.startsWith(EVIDENCE_PREFIX))
      .flatMap((name) => headsIn(readFileSync(join(folder, name), 'utf8')));
  }

  private load(): void {
    const text = readFileSync(this.path, 'utf8');
    for (const head of headsIn(text)) this.newest.set(head.chain, head);
    this.bytes = Buffer.byteLength(text);
  }

  private rewrite(): void {
    const draft = `${this.path}.${process.pid}`;
    this.bytes = append(draft, [...this.newest.values()]);
    renameSync(draft, this.path);
  }
}

export function headsIn(text: string): SignedHead[] {
  const heads = new Map<number, SignedHead>();
  for (const line of text.split('\n')) {
    const head = readLine(line);
    if (head !== null) heads.set(head.chain, head);
  }
  return [...heads.values()];
}

function readLine(line: string): SignedHead | null {
  try {
    return readHead(parseJsonText(line));
  } catch {
    return null;
  }
}

/**
 * The line is durable (fsync) when this returns. A leading line feed prevents it from joining a line that a crash cut
 * off.
 */
function append(path: string, heads: readonly SignedHead[]): number {
  mkdirSync(dirname(path), { recursive: true });
  const file = openSync(path, 'a', 0o600);
  try {
    const bytes = writeSync(file, heads.map((head) => `\n${JSON.stringify(serialiseHead(head))}`).join(''));
    fsyncSync(file);
    return bytes;
  } finally {
    closeSync(file);
  }
}
