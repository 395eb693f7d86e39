import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type CheckFinding, ok, warn } from '../../checks';
import type { Settings } from '../../platform';
import { projectFolder } from '../../views';

const WHAT = 'legal texts';
const OPEN_PLACEHOLDER = '[OPERATOR:';

export function checkLegalTexts({ legalFolder }: Pick<Settings, 'legalFolder'>): CheckFinding {
  const ownTexts = legalFolder === undefined ? [] : textsIn(legalFolder);
  const replaced = new Set(ownTexts.map(({ document }) => document));
  const templates = textsIn(join(projectFolder, 'views', 'legal'));
  const published = [...ownTexts, ...templates.filter(({ document }) => !replaced.has(document))];
  const unfinished = published.filter(({ text }) => text.includes(OPEN_PLACEHOLDER));
  const names = [...new Set(unfinished.map(({ document }) => `/legal/${document}`))].sort();
  if (names.length === 0) return ok(WHAT, 'no placeholder is open');
  return warn(
    WHAT,
    `placeholders are open in ${names.join(', ')}`,
    'Put your own texts into a folder and name it in LEGAL_FOLDER (docs/portal.md, "Legal texts").',
  );
}

const textsIn = (folder: string): { document: string; text: string }[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.md'))
    .map((name) => ({
      document: name.split('.')[0] ?? name,
      text: readFileSync(join(folder, name), 'utf8'),
    }));
