import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

const project = join(__dirname, '..', '..', '..');
const texts = JSON.parse(readFileSync(join(project, 'locales', 'en.json'), 'utf8')) as {
  readonly refused: Readonly<Record<string, string>>;
};

/** Modules whose refusals people read on pages. */
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

/** Programs alone are told these: commands, the API with a key, the payment processor. */
const forPrograms = [
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

/** Not yet told by reasons. */
const awaiting = [
  'src/admin/catalogue/',
  'src/catalogue/',
  'src/billing/',
  'src/chat/',
  'src/keys/',
  'src/portal/',
  'src/web/',
];

/** The page that is not there says so by itself, and so does a form at each field that is missing. */
const saidByCode = /^'(?:not_found|missing_fields)'/;

const sourcesOf = (module: string) =>
  readdirSync(join(project, 'src', module), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => relative(project, join(entry.parentPath, entry.name)))
    .map((path) => ({ path, text: readFileSync(join(project, path), 'utf8') }));
const sources = modules.flatMap(sourcesOf);

/** The arguments of each call of `fault`, as they are written. */
function faultsIn(text: string): string[] {
  return [...text.matchAll(/\bfault\(/g)].map(({ index }) => {
    const begin = index + 'fault('.length;
    let depth = 1;
    let end = begin;
    for (; depth > 0 && end < text.length; end += 1)
      depth += text[end] === '(' ? 1 : text[end] === ')' ? -1 : 0;
    return text.slice(begin, end - 1);
  });
}

test('what a page refuses has a reason, so that people read it in their language', () => {
  const inEnglishOnly = sources
    .filter(({ path }) => ![...forPrograms, ...awaiting].some((prefix) => path.startsWith(prefix)))
    .flatMap(({ path, text }) => faultsIn(text).map((call) => ({ path, call })))
    .filter(({ call }) => /\bmessage\b/.test(call) && !/\breason\b/.test(call) && !saidByCode.test(call))
    .map(({ path, call }) => `${path}: ${/message[\s\S]{0,90}/.exec(call)?.[0].replaceAll(/\s+/g, ' ')}`);
  expect(inEnglishOnly).toEqual([]);
});

test('every reason has its text', () => {
  const named = [...sources, ...sourcesOf('kernel')].flatMap(({ text }) =>
    [...text.matchAll(/\breason: '([a-z][a-z-]*)'/g)].map(([, reason]) => reason ?? ''),
  );
  const known = new Set(Object.keys(texts.refused).map((key) => key.replace(/_(one|other)$/, '')));
  const faults = new Set(
    sources.flatMap(({ text }) =>
      faultsIn(text).flatMap((call) =>
        [...call.matchAll(/\breason: '([a-z-]+)'/g)].map(([, reason]) => reason ?? ''),
      ),
    ),
  );
  expect([...faults].filter((reason) => !known.has(reason))).toEqual([]);
  expect([...known].filter((reason) => !named.includes(reason))).toEqual([]);
});
