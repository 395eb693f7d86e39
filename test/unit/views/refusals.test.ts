import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

const project = join(__dirname, '..', '..', '..');
const texts = JSON.parse(readFileSync(join(project, 'locales', 'en.json'), 'utf8')) as {
  readonly refused: Readonly<Record<string, string>>;
};

/** Modules whose refusals users see on pages. */
const modules = [
  'admin',
  'alerts',
  'audit',
  'billing',
  'catalogue',
  'chat',
  'identity',
  'keys',
  'portal',
  'quality',
  'quarantine',
  'autorouter',
  'web',
];

/** Refusals for programs only: commands, the API with a key, the payment processor. */
const programOnlyPaths = [
  'src/autorouter/choice/',
  'src/billing/engine/escrow/refusal.ts',
  'src/catalogue/rerate.ts',
  'src/keys/key-directory.ts',
  'src/keys/key-authenticator.ts',
  'src/keys/rate/rate-limiter.service.ts',
  'src/portal/billing/webhook.controller.ts',
  'src/portal/public/api-docs/api-descriptions.ts',
  'src/web/guards/service-key.guard.ts',
  'src/web/idempotency/idempotency.ts',
];

/** Modules not yet converted to reasons. */
const unconvertedPaths = [
  'src/admin/catalogue/',
  'src/catalogue/',
  'src/billing/',
  'src/chat/',
  'src/keys/',
  'src/portal/',
  'src/web/',
];

/** A missing page has its own text, and so has a form with missing fields. */
const explainedByCode = /^'(?:not_found|missing_fields)'/;

const sourceFilesOf = (module: string) =>
  readdirSync(join(project, 'src', module), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => relative(project, join(entry.parentPath, entry.name)))
    .map((path) => ({ path, text: readFileSync(join(project, path), 'utf8') }));
const sources = modules.flatMap(sourceFilesOf);

/** Returns the source text of the arguments of each `fault` call. */
function faultArgumentsIn(text: string): string[] {
  return [...text.matchAll(/\bfault\(/g)].map(({ index }) => {
    const start = index + 'fault('.length;
    let depth = 1;
    let end = start;
    for (; depth > 0 && end < text.length; end += 1)
      depth += text[end] === '(' ? 1 : text[end] === ')' ? -1 : 0;
    return text.slice(start, end - 1);
  });
}

test('every refusal on a page has a reason that can be translated', () => {
  const untranslatable = sources
    .filter(
      ({ path }) => ![...programOnlyPaths, ...unconvertedPaths].some((prefix) => path.startsWith(prefix)),
    )
    .flatMap(({ path, text }) => faultArgumentsIn(text).map((call) => ({ path, call })))
    .filter(({ call }) => /\bmessage\b/.test(call) && !/\breason\b/.test(call) && !explainedByCode.test(call))
    .map(({ path, call }) => `${path}: ${/message[\s\S]{0,90}/.exec(call)?.[0].replaceAll(/\s+/g, ' ')}`);
  expect(untranslatable).toEqual([]);
});

test('every reason has a text and every text is used', () => {
  const usedReasons = [...sources, ...sourceFilesOf('kernel')].flatMap(({ text }) =>
    [...text.matchAll(/\breason: '([a-z][a-z-]*)'/g)].map(([, reason]) => reason ?? ''),
  );
  const knownReasons = new Set(Object.keys(texts.refused).map((key) => key.replace(/_(one|other)$/, '')));
  const faults = new Set(
    sources.flatMap(({ text }) =>
      faultArgumentsIn(text).flatMap((call) =>
        [...call.matchAll(/\breason: '([a-z-]+)'/g)].map(([, reason]) => reason ?? ''),
      ),
    ),
  );
  expect([...faults].filter((reason) => !knownReasons.has(reason))).toEqual([]);
  expect([...knownReasons].filter((reason) => !usedReasons.includes(reason))).toEqual([]);
});
