import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A command as a reader of the documents would type it. */
export interface DocumentedCommand {
  readonly file: string;
  readonly line: number;
  readonly text: string;
}

/** Blocks of other languages hold what is written or read, never what is typed. */
const SHELL = 'sh';
const COMMENT = /\s+# .*$/;
/** The product's own command line stands in sentences too; a list of words with `|` is a summary of several commands. */
const inSentence = /`((?:npm run (?:-s )?cli|bin\/switchboard\.cjs) [^`|]+)`/g;
/** Matches the beginning of a line that a person types into a shell. */
const typed = /^(?:npm|npx|node|curl|docker|bin\/\S+) /;

/** The documents of the project; decisions under `docs/adr` tell of their day and are left as they were written. */
export function documentsOf(project: string): string[] {
  const pages = readdirSync(join(project, 'docs')).filter((name) => name.endsWith('.md'));
  return [
    'README.md',
    'CONTRIBUTING.md',
    'simulator/README.md',
    'bench/gateway/README.md',
    // The page of the portal for those who begin.
    'views/content/guide.md',
    ...pages.map((name) => `docs/${name}`),
  ];
}

export const commandsOf = (project: string): DocumentedCommand[] =>
  documentsOf(project).flatMap((file) => commandsIn(file, readFileSync(join(project, file), 'utf8')));

/** Commands that stand in a block without the language of a shell, where nothing would find them. */
export const misplacedIn = (file: string, text: string): DocumentedCommand[] =>
  blocksIn(text)
    .filter(({ language }) => language === '')
    .flatMap(({ first, lines }) =>
      lines.flatMap((line, at) => (typed.test(line) ? [{ file, line: first + at, text: line }] : [])),
    );

function commandsIn(file: string, text: string): DocumentedCommand[] {
  const blocks = blocksIn(text).filter(({ language }) => language === SHELL);
  const inBlocks = blocks.flatMap(({ first, lines }) => commandsAmong(file, first, lines));
  const sentences = text
    .split('\n')
    .flatMap((line, at) =>
      [...line.matchAll(inSentence)].map(([, command = '']) => ({ file, line: at + 1, text: command })),
    );
  return [...inBlocks, ...sentences];
}

interface Block {
  readonly language: string;
  /** The number of its first line. */
  readonly first: number;
  readonly lines: readonly string[];
}

function blocksIn(text: string): Block[] {
  const blocks: Block[] = [];
  let open: { language: string; first: number; lines: string[] } | null = null;
  for (const [at, line] of text.split('\n').entries()) {
    const [, language] = /^\s*```(\w*)/.exec(line) ?? [];
    if (language === undefined) open?.lines.push(line.trimStart());
    else if (open === null) open = { language, first: at + 2, lines: [] };
    else {
      blocks.push(open);
      open = null;
    }
  }
  return blocks;
}

/** One command a line, apart from those that go on behind a backslash or within quotes. */
function commandsAmong(file: string, first: number, lines: readonly string[]): DocumentedCommand[] {
  const commands: DocumentedCommand[] = [];
  let begun: DocumentedCommand | undefined;
  for (const [at, line] of lines.entries()) {
    const part = line.replace(COMMENT, '').trim();
    begun = { file, line: begun?.line ?? first + at, text: begun ? `${begun.text}\n${part}` : part };
    const isOpen = part.endsWith('\\') || begun.text.split("'").length % 2 === 0;
    if (isOpen && at < lines.length - 1) continue;
    if (begun.text !== '') commands.push(begun);
    begun = undefined;
  }
  return commands;
}
