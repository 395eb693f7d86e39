'use strict';
// Checks names and comments against the style guide (docs/contributing/style.md). Findings of the past are counted per
// file in language-baseline.json: a count can only go down, and files that are not listed have none.
// `node scripts/check-language.cjs --write` stores lower counts.
const { readFileSync, readdirSync, writeFileSync } = require('node:fs');
const { join, relative } = require('node:path');
const ts = require('typescript');
const { inProject } = require('./bootstrap/run.cjs');

const FOLDERS = ['src', 'packages', 'test'];
const BASELINE = inProject('scripts', 'language-baseline.json');

const COMMENT_OPENING = /^(It|They|These|This|One|What|Of|Where|The same)\b/;
const AVOIDED_WORDS =
  /\b(set aside|put by|anew|misfits?|upkeep|mend(s|ed|ing)?|somebody|nobody|so (many|much|long|often) (are|is|at|may)|in one piece)\b/i;
const AVOIDED_NAME = /^(MOST|LEAST|LONGEST|SHORTEST)_|_AN?_|(Upkeep|Misfit|Mender|Teller|Looks)(?![a-z])/;

function* sourceFiles(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory() && entry.name !== 'node_modules') yield* sourceFiles(path);
    else if (entry.name.endsWith('.ts')) yield path;
  }
}

/** The text of each comment, without its marks; consecutive `//` lines are one comment. */
function commentsOf(source) {
  const comments = [];
  const { text } = source;
  const seen = new Set();
  const add = ({ pos, end, kind }) => {
    if (seen.has(pos)) return;
    seen.add(pos);
    const line = source.getLineAndCharacterOfPosition(pos).line + 1;
    const isLine = kind === ts.SyntaxKind.SingleLineCommentTrivia;
    const words = text
      .slice(pos, end)
      .replace(/^\/\*\*?|\*\/$|^\/\//g, '')
      .replace(/^\s*\* ?/gm, '')
      .trim();
    const last = comments.at(-1);
    if (isLine && last?.isLine && last.end === line - 1)
      Object.assign(last, { end: line, text: `${last.text} ${words}` });
    else comments.push({ line, end: line, isLine, text: words });
  };
  const visit = (node) => {
    const children = node.getChildren(source).filter(({ kind }) => !isDocumentation(kind));
    if (children.length === 0 || node.kind === ts.SyntaxKind.SourceFile) {
      for (const range of ts.getLeadingCommentRanges(text, node.getFullStart()) ?? []) add(range);
      for (const range of ts.getTrailingCommentRanges(text, node.getEnd()) ?? []) {
        if (!isInTemplate(node)) add(range);
      }
    }
    for (const child of children) visit(child);
  };
  visit(source);
  return comments;
}

const isDocumentation = (kind) => kind >= ts.SyntaxKind.FirstJSDocNode && kind <= ts.SyntaxKind.LastJSDocNode;
const isInTemplate = ({ kind }) =>
  kind === ts.SyntaxKind.TemplateHead || kind === ts.SyntaxKind.TemplateMiddle;

function declaredNames(source) {
  const names = [];
  const visit = (node) => {
    if (node.name && ts.isIdentifier(node.name)) {
      names.push({
        line: source.getLineAndCharacterOfPosition(node.name.getStart(source)).line + 1,
        text: node.name.text,
      });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return names;
}

function findingsOf(path) {
  const source = ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest, true);
  return [
    ...commentsOf(source).filter(({ text }) => COMMENT_OPENING.test(text) || AVOIDED_WORDS.test(text)),
    ...declaredNames(source).filter(({ text }) => AVOIDED_NAME.test(text)),
  ];
}

function main() {
  const baseline = JSON.parse(readFileSync(BASELINE, 'utf8'));
  const counts = {};
  let failed = false;
  for (const folder of FOLDERS) {
    for (const path of sourceFiles(inProject(folder))) {
      const name = relative(inProject(), path).replaceAll('\\', '/');
      const findings = findingsOf(path);
      const allowed = baseline[name] ?? 0;
      if (findings.length > 0) counts[name] = Math.min(findings.length, allowed);
      if (findings.length > allowed) {
        failed = true;
        console.log(`${name}: ${findings.length} findings, ${allowed} allowed`);
        for (const { line, text } of findings) console.log(`  ${line}: ${text.slice(0, 100)}`);
      }
    }
  }
  const lower = Object.keys(baseline).filter((name) => (counts[name] ?? 0) < baseline[name]);
  if (process.argv.includes('--write')) {
    const kept = Object.entries(counts)
      .filter(([, count]) => count > 0)
      .sort(([one], [other]) => (one < other ? -1 : 1));
    writeFileSync(BASELINE, `${JSON.stringify(Object.fromEntries(kept), null, 2)}\n`);
  } else if (lower.length > 0) {
    failed = true;
    console.log(`${lower.length} files have fewer findings: run node scripts/check-language.cjs --write`);
  }
  process.exitCode = failed ? 1 : 0;
}

main();
