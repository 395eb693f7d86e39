const js = require('@eslint/js');
const tseslint = require('typescript-eslint');

module.exports = tseslint.config(
  { ignores: ['node_modules/', 'dist/', '.data/', '.node24/', 'coverage/'] },
  js.configs.recommended,
  {
    files: ['**/*.ts'],
    extends: [...tseslint.configs.recommendedTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: __dirname } },
    rules: {
      '@typescript-eslint/consistent-type-imports': [
        'error',
        { fixStyle: 'inline-type-imports', disallowTypeAnnotations: false },
      ],
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      eqeqeq: 'error',
      'no-console': 'error',
      'max-lines': ['error', { max: 400 }],
    },
  },
  {
    // It is written by a test, a line a column.
    files: ['migrations/tables.ts'],
    rules: { 'max-lines': 'off' },
  },
  {
    // A constructor's parameter types are its dependencies: with `import type` Nest could not see them.
    files: ['src/**/*.ts'],
    rules: { '@typescript-eslint/consistent-type-imports': 'off' },
  },
  {
    files: ['src/**/*.ts'],
    ignores: ['src/platform/config/**'],
    rules: {
      'no-restricted-properties': [
        'error',
        { object: 'process', property: 'env', message: 'The environment is read once, in platform/config.' },
      ],
      'no-restricted-globals': [
        'error',
        { name: 'fetch', message: 'Answers of others are bounded: use OutgoingClient of the platform.' },
      ],
    },
  },
  {
    files: ['src/**/*.ts'],
    ignores: ['src/kernel/json/**'],
    rules: {
      'no-restricted-syntax': [
        'error',
        {
          selector: 'MemberExpression[object.name="JSON"][property.name="parse"]',
          message: 'V8 may misread escaped names: use parseJsonText of the kernel.',
        },
        {
          selector: 'CallExpression[callee.property.name="json"][arguments.length=0]',
          message: 'V8 may misread escaped names: read the text, and use parseJsonText of the kernel.',
        },
        {
          selector:
            ':matches(:function, TSEmptyBodyFunctionExpression, TSMethodSignature) > .returnType[typeAnnotation.type!="TSTypePredicate"] TSObjectKeyword',
          message: 'An answer has a type: let it be inferred, or name it.',
        },
      ],
    },
  },
  {
    // Pages are a second file of the bundle: an import of the package there would add all of it to the service.
    files: ['src/admin/**/*.ts', 'src/portal/**/*.ts', 'src/autorouter/**/*.ts'],
    rules: {
      '@typescript-eslint/no-restricted-imports': [
        'error',
        { name: 'class-validator', message: 'Import the rules of web/validation from web.' },
      ],
    },
  },
  {
    files: ['test/**/*.ts', 'proofs/**/*.ts', 'bench/**/*.ts'],
    rules: {
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
    },
  },
  {
    // What is tested is what ships: `#product/…` and `#inside/…` are the bundle's at run time.
    files: ['test/**/*.ts', 'proofs/**/*.ts', 'bench/**/*.ts'],
    ignores: ['test/unit/**'],
    rules: {
      '@typescript-eslint/no-restricted-imports': [
        'error',
        {
          patterns: [
            {
              group: ['**/src/**'],
              allowTypeImports: true,
              message: 'Take values from #product or #inside.',
            },
          ],
        },
      ],
    },
  },
  {
    files: ['**/*.cjs', '*.js'],
    languageOptions: {
      sourceType: 'commonjs',
      globals: {
        require: 'readonly',
        module: 'writable',
        process: 'readonly',
        __dirname: 'readonly',
        __filename: 'readonly',
        console: 'readonly',
        Buffer: 'readonly',
        setTimeout: 'readonly',
        clearTimeout: 'readonly',
        URL: 'readonly',
        fetch: 'readonly',
        AbortSignal: 'readonly',
      },
    },
  },
  { files: ['**/*.mjs'], languageOptions: { globals: { fetch: 'readonly' } } },
  {
    files: ['public/**/*.js'],
    languageOptions: {
      sourceType: 'module',
      globals: Object.fromEntries(
        [
          'document',
          'window',
          'navigator',
          'Blob',
          'HTMLAnchorElement',
          'localStorage',
          'location',
          'setTimeout',
          'clearTimeout',
          'setInterval',
          'clearInterval',
          'requestAnimationFrame',
          'performance',
          'crypto',
          'TextDecoderStream',
          'DOMParser',
          'FileReader',
          'Intl',
          'URL',
          'CustomEvent',
          'Event',
          'HTMLElement',
          'Element',
          'Node',
          'fetch',
          'history',
          'matchMedia',
          'htmx',
          'HTMLDialogElement',
          'CSS',
          'customElements',
          'MutationObserver',
          'sessionStorage',
          'AbortController',
          'TextDecoder',
          'FormData',
          'Option',
          'getSelection',
          'URLSearchParams',
        ].map((name) => [name, 'readonly']),
      ),
    },
  },
);
