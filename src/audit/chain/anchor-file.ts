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
import { readHead, type SignedHead, writtenHead } from './block';

const ASIDE = 'anchor-contradicted-';

/** The file is compacted to one line a chain when it reaches this size and is mostly former heads. */
const LARGEST_BYTES = 8 * 1_024 * 1_024;

/**
 * The newest heads that this machine has seen, outside the database: changing the past there means changing it here
 * too. The file is append-only; the last line of a chain counts.
 */
export class AnchorFile {
  private readonly newest = new Map<number, SignedHead>();
  private bytes = 0;

  private constructor(readonly path: string) {}

  /** A missing file begins empty; an unreadable line, such as one cut by a crash, is skipped. */
  static open(dataFolder: string): AnchorFile {
    const anchor = new AnchorFile(join(dataFolder, 'audit', 'anchor.jsonl'));
    if (existsSync(anchor.path)) anchor.load();
    return anchor;
  }

  get heads(): ReadonlyMap<number, SignedHead> {
    return this.newest;
  }

  add(heads: readonly SignedHead[]): void {
    const news = heads.filter((head) => head.number > (this.newest.get(head.chain)?.number ?? 0));
    if (news.length === 0) return;
    for (const head of news) this.newest.set(head.chain, head);
    if (this.bytes > LARGEST_BYTES) return this.rewrite();
    this.bytes += append(this.path, news);
  }

  /** Sets the file aside as evidence and begins a new one. Returns the new path of the evidence. */
  setAside(now: Date): string {
    const aside = join(dirname(this.path), `${ASIDE}${now.toISOString().replaceAll(/[:.]/g, '-')}.jsonl`);
    renameSync(this.path, aside);
    this.newest.clear();
    this.bytes = 0;
    return aside;
  }

  /** The heads of files that were set aside as evidence and are still there. */
  evidence(): SignedHead[] {
    const folder = dirname(this.path);
    const names = existsSync(folder) ? readdirSync(folder) : [];
    return names
      .filter((name) => name.startsWith(ASIDE))
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

/** The newest head of each chain that the text of an anchor file names. */
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
 * The line is durable (fsync) when this returns. It begins with a line feed, so that it never joins a line that a crash
 * cut.
 */
function append(path: string, heads: readonly SignedHead[]): number {
  mkdirSync(dirname(path), { recursive: true });
  const file = openSync(path, 'a', 0o600);
  try {
    const bytes = writeSync(file, heads.map((head) => `\n${JSON.stringify(writtenHead(head))}`).join(''));
    fsyncSync(file);
    return bytes;
  } finally {
    closeSync(file);
  }
}
