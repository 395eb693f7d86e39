export const templateOf = (id: string, contract: string): Record<string, string> => ({
  'package.json': packageFile(id, contract),
  'tsconfig.json': compilerFile,
  '.gitignore': 'node_modules/\ndist/\n',
  'README.md': readme(id),
  'src/index.ts': entry(id),
  'test/extension.test.mjs': test(id),
});

const variable = (id: string): string => `EXT_${id.toUpperCase().replaceAll('-', '_')}_WORDS`;
const json = (content: object): string => `${JSON.stringify(content, null, 2)}\n`;

const packageFile = (id: string, contract: string): string =>
  json({
    name: id,
    version: '0.1.0',
    private: true,
    type: 'commonjs',
    main: 'dist/index.js',
    engines: { node: '>=22.19' },
    scripts: { build: 'tsc', pretest: 'tsc', test: 'node --test test/*.test.mjs' },
    dependencies: { '@switchboard/extension': `file:contract/${contract}` },
    devDependencies: { typescript: '^6.0.3' },
  });

const compilerFile = json({
  compilerOptions: {
    target: 'es2023',
    module: 'nodenext',
    moduleResolution: 'nodenext',
    rootDir: 'src',
    outDir: 'dist',
    strict: true,
    skipLibCheck: true,
    experimentalDecorators: true,
    emitDecoratorMetadata: true,
    useDefineForClassFields: false,
    strictPropertyInitialization: false,
  },
  include: ['src'],
});

const entry = (
  id: string,
): string => `import { abstain, defineExtension, type Gate, reject, type StandardSchema } from '@switchboard/extension';

interface Settings {
  readonly words: readonly string[];
}

/** The words stand in ${variable(id)}, with commas between them. */
const settings: StandardSchema<Settings> = {
  '~standard': {
    version: 1,
    vendor: '${id}',
    validate(given) {
      const { words = '' } = given as { readonly words?: string };
      const found = words.split(',').map((word) => word.trim().toLowerCase()).filter((word) => word !== '');
      return found.length > 0 ? { value: { words: found } } : { issues: [{ message: 'name at least one word', path: ['words'] }] };
    },
  },
};

/** Requests in which one of the words stands are refused. */
export const wordGate = ({ words }: Settings): Gate => ({
  name: 'words',
  timeoutMs: 100,
  onError: 'closed',
  request({ texts }) {
    const found = words.find((word) => texts.some(({ text }) => text.toLowerCase().includes(word)));
    return found === undefined ? abstain : reject('model_not_allowed', \`Requests about "\${found}" stay in the house.\`);
  },
});

export default defineExtension({
  id: '${id}',
  version: '0.1.0',
  host: '^1',
  settings,
  setup: ({ settings }) => ({ gates: [wordGate(settings)] }),
});
`;

const test = (id: string): string => `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { describeExtension } from '@switchboard/extension/kit';
import { wordGate } from '../dist/index.js';

test('a request with one of the words is refused, and others go on', () => {
  const { request } = wordGate({ words: ['falcon'] });
  assert.equal(request({ texts: [{ text: 'Tell me about Falcon.' }] }).verdict, 'reject');
  assert.equal(request({ texts: [{ text: 'Tell me about owls.' }] }).verdict, 'abstain');
});

// The kit starts the service with ${id}; SWITCHBOARD_PRODUCT is the folder of the service.
describeExtension(fileURLToPath(new URL('..', import.meta.url)), {
  settings: { words: 'falcon' },
  product: process.env.SWITCHBOARD_PRODUCT,
});
`;

const readme = (id: string): string => `# ${id}

It refuses requests in which one of some words stands.

\`\`\`sh
npm install
npm run build
SWITCHBOARD_PRODUCT=../switchboard npm test
\`\`\`

The service loads it at its start:

\`\`\`sh
EXTENSIONS=./${id} ${variable(id)}=falcon npm start
\`\`\`

\`contract/\` has the contract of extensions as it was packed. A later one takes its place there and in \`package.json\`.
`;
