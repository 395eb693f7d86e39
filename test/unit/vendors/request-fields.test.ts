import { join } from 'node:path';
import ts from 'typescript';
import type { DialectName } from '#extension';
import { isSteering } from '../../../src/routing/suppliers/kit';
import { isKnownBeta, requestFields } from '../../../src/vendors';

const folderOf = (name: string): string => join(__dirname, '../../../node_modules', name);

/** Names that the typings list as body fields although they are sent as headers. */
const HEADERS: ReadonlySet<string> = new Set(['betas', 'workspace_id']);

const sdks: readonly (readonly [dialect: DialectName, file: string, type: string])[] = [
  [
    'messages',
    join(folderOf('@anthropic-ai/sdk'), 'resources/beta/messages/messages.d.ts'),
    'MessageCreateParamsNonStreaming',
  ],
  [
    'responses',
    join(folderOf('openai'), 'resources/responses/responses.d.ts'),
    'ResponseCreateParamsNonStreaming',
  ],
  [
    'chat',
    join(folderOf('openai'), 'resources/chat/completions/completions.d.ts'),
    'ChatCompletionCreateParamsNonStreaming',
  ],
];

const program = ts.createProgram(
  [...sdks.map(([, file]) => file), join(folderOf('@anthropic-ai/sdk'), 'resources/beta/beta.d.ts')],
  {
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    strict: true,
    skipLibCheck: true,
  },
);
const checker = program.getTypeChecker();

function typeIn(file: string, name: string): ts.Type {
  const module = checker.getSymbolAtLocation(program.getSourceFile(file)!)!;
  const symbol = checker.getExportsOfModule(module).find((each) => each.name === name);
  if (symbol === undefined) throw new Error(`${file} exports no ${name}`);
  return checker.getDeclaredTypeOfSymbol(symbol);
}

/** Returns every property of the type as `holder.name`, except below objects with names of the caller's choice. */
function namesOf(root: ts.Type, free: ReadonlySet<string>): Set<string> {
  const names = new Set<string>();
  const seen = new Set<string>();
  const visit = (type: ts.Type, holder: string): void => {
    if (free.has(holder)) return;
    for (const part of type.isUnion() ? type.types : [type]) {
      if ((part.flags & (ts.TypeFlags.Object | ts.TypeFlags.Intersection)) === 0) continue;
      if (checker.isArrayType(part)) {
        for (const item of checker.getTypeArguments(part as ts.TypeReference)) visit(item, holder);
        continue;
      }
      // A text with suggested values, or an object with caller-defined names.
      if (checker.getIndexInfosOfType(part).length > 0) continue;
      const key = `${holder} ${(part as ts.Type & { readonly id: number }).id}`;
      if (seen.has(key)) continue;
      seen.add(key);
      for (const property of checker.getPropertiesOfType(part)) {
        names.add(`${holder}.${property.name}`);
        visit(checker.getTypeOfSymbol(property), property.name);
      }
    }
  };
  visit(root, '');
  return names;
}

// Issue: "A test compares the names of the newest installed vendor SDK types with the policy's table and fails by name
// when one is missing."
test.each(sdks)('every field of the typings for %s is in the table', (dialect, file, type) => {
  const { names, free } = requestFields[dialect];
  const missing = [...namesOf(typeIn(file, type), free)].filter((path) => {
    const [holder = '', name = ''] = path.split('.');
    if (holder === '' && (HEADERS.has(name) || isSteering(name))) return false;
    if (isSteering(holder)) return false;
    return names.get(holder)?.has(name) !== true;
  });
  expect(missing).toEqual([]);
});

test('every beta of the typings belongs to a known family', () => {
  const file = join(folderOf('@anthropic-ai/sdk'), 'resources/beta/beta.d.ts');
  const betas = typeIn(file, 'AnthropicBeta');
  const texts = (betas.isUnion() ? betas.types : [betas]).flatMap((part) =>
    part.isStringLiteral() ? [part.value] : [],
  );
  expect(texts.length).toBeGreaterThan(40);
  expect(texts.filter((beta) => !isKnownBeta(beta))).toEqual([]);
  expect(isKnownBeta('telepathy-2026-12-01')).toBe(false);
});

test('name missing from the typings is missing from the table', () => {
  for (const { names } of Object.values(requestFields)) {
    expect(names.get('')?.has('a_field_of_tomorrow')).toBe(false);
    expect(names.get('content')?.has('a_field_of_tomorrow')).toBe(false);
  }
});
