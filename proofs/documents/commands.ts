import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A command as a reader of the documents would type it. */
export interface DocumentedCommand {
  readonly file: string;
  readonly line: number;
  readonly text: string;
}

/** Only shell blocks contain commands; blocks of other languages show files or output. */
const SHELL = 'sh';
const COMMENT = /\s+# .*$/;
/** Matches CLI commands in sentences; a pattern with `|` summarises several commands and is excluded. */
const INLINE_COMMAND = /`((?:npm run (?:-s )?cli|bin\/switchboard\.cjs) [^`|]+)`/g;
/** Matches the start of a line that users type into a shell. */
const COMMAND_START = /^(?:npm|npx|node|curl|docker|bin\/\S+) /;

/** Documents of the project without `docs/adr`, whose decisions are historical. */
export function documentsOf(project: string): string[] {
  const pages = readdirSync(join(project, 'docs')).filter((name) => name.endsWith('.md'));
  return [
    'README.md',
    'CONTRIBUTING.md',
    'simulator/README.md',
    'bench/gateway/README.md',
    // Getting-started page of the portal.
    'views/content/guide.md',
    ...pages.map((name) => `docs/${name}`),
  ];
}

export const commandsOf = (project: string): DocumentedCommand[] =>
  documentsOf(project).flatMap((file) => commandsIn(file, readFileSync(join(project, file), 'utf8')));

/** Commands in a block without a shell language, which the proof would miss. */
export const misplacedIn = (file: string, text: string): DocumentedCommand[] =>
  blocksIn(text)
    .filter(({ language }) => language === '')
    .flatMap(({ first, lines }) =>
      lines.flatMap((line, at) => (COMMAND_START.test(line) ? [{ file, line: first + at, text: line }] : [])),
    );

function commandsIn(file: string, text: string): DocumentedCommand[] {
  const blocks = blocksIn(text).filter(({ language }) => language === SHELL);
  const inBlocks = blocks.flatMap(({ first, lines }) => commandsAmong(file, first, lines));
  const sentences = text
    .split('\n')
    .flatMap((line, at) =>
      [...line.matchAll(INLINE_COMMAND)].map(([, command = '']) => ({ file, line: at + 1, text: command })),
    );
  return [...inBlocks, ...sentences];
}

interface MarkdownBlock {
  readonly language: string;
  /** Number of its first line. */
  readonly first: number;
  readonly lines: readonly string[];
}

function blocksIn(text: string): MarkdownBlock[] {
  const blocks: MarkdownBlock[] = [];
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

/** Returns one command per line, joining continuations after a backslash or within quotes. */
function commandsAmong(file: string, first: number, lines: readonly string[]): DocumentedCommand[] {
  const commands: DocumentedCommand[] = [];
  let openCommand: DocumentedCommand | undefined;
  for (const [at, line] of lines.entries()) {
    const part = line.replace(COMMENT, '').trim();
    openCommand = {
      file,
      line: openCommand?.line ?? first + at,
      text: openCommand ? `${openCommand.text}\n${part}` : part,
    };
    const isOpen = part.endsWith('\\') || openCommand.text.split("'").length % 2 === 0;
    if (isOpen && at < lines.length - 1) continue;
    if (openCommand.text !== '') commands.push(openCommand);
    openCommand = undefined;
  }
  return commands;
}
