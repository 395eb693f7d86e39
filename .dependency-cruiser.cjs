/*
 * The floors of the source: imports go down only, and into a module through its index.ts. One row a module; what is
 * not listed as reachable is forbidden.
 */
const mayImport = {
  kernel: [],
  vendors: ['kernel'],
  protocol: ['vendors', 'kernel'],
  // The types of tables are derived from migrations.
  platform: ['kernel', 'migrations/tables'],
  extensions: ['platform', 'kernel'],
  views: ['extensions', 'platform', 'kernel'],
  audit: ['extensions', 'platform', 'kernel'],
  identity: ['views', 'audit', 'extensions', 'platform', 'kernel'],
  catalogue: ['vendors', 'audit', 'extensions', 'platform', 'kernel'],
  billing: ['views', 'audit', 'extensions', 'platform', 'kernel'],
  backup: ['catalogue', 'billing', 'audit', 'extensions', 'platform', 'kernel'],
  keys: ['catalogue', 'billing', 'identity', 'views', 'audit', 'extensions', 'platform', 'kernel'],
  routing: ['catalogue', 'protocol', 'vendors', 'audit', 'extensions', 'platform', 'kernel'],
  web: ['keys', 'billing', 'identity', 'views', 'audit', 'vendors', 'extensions', 'platform', 'kernel'],
  quarantine: ['web', 'keys', 'billing', 'identity', 'views', 'audit', 'extensions', 'platform', 'kernel'],
  gateway: [
    'web',
    'keys',
    'routing',
    'billing',
    'catalogue',
    'identity',
    'audit',
    'extensions',
    'platform',
    'protocol',
    'vendors',
    'kernel',
  ],
  autorouter: [
    'gateway',
    'web',
    'keys',
    'routing',
    'billing',
    'catalogue',
    'identity',
    'audit',
    'extensions',
    'platform',
    'protocol',
    'kernel',
  ],
  quality: [
    'autorouter',
    'gateway',
    'keys',
    'routing',
    'catalogue',
    'identity',
    'audit',
    'extensions',
    'platform',
    'protocol',
    'kernel',
  ],
  alerts: ['catalogue', 'billing', 'identity', 'views', 'audit', 'extensions', 'platform', 'kernel'],
  checks: ['routing', 'catalogue', 'extensions', 'platform', 'kernel'],
  chat: [
    'autorouter',
    'gateway',
    'keys',
    'routing',
    'billing',
    'catalogue',
    'identity',
    'audit',
    'extensions',
    'platform',
    'kernel',
  ],
  portal: [
    'autorouter',
    'chat',
    'checks',
    'quality',
    'gateway',
    'web',
    'keys',
    'routing',
    'billing',
    'catalogue',
    'identity',
    'views',
    'audit',
    'extensions',
    'platform',
    'protocol',
    'vendors',
    'kernel',
  ],
  admin: [
    'alerts',
    'autorouter',
    'chat',
    'checks',
    'quality',
    'quarantine',
    'web',
    'keys',
    'routing',
    'backup',
    'billing',
    'catalogue',
    'identity',
    'views',
    'audit',
    'extensions',
    'platform',
    'protocol',
    'vendors',
    'kernel',
  ],
};

/** The composition root and the command line stand on all modules, load migrations, and have no index.ts. */
const modules = Object.keys(mayImport);
const mayCompose = {
  boot: [...modules, 'migrations'],
  commands: ['boot', ...modules, 'migrations'],
};

const floorRules = Object.entries({ ...mayImport, ...mayCompose }).map(([name, below]) => ({
  name: `floor-${name}`,
  comment: `${name} may import ${below.join(', ') || 'nothing of the project'}`,
  severity: 'error',
  from: { path: `^src/${name}/` },
  to: {
    path: '^(src|packages|migrations|simulator|gallery|test)/',
    pathNot: `^(packages/extension|(src/)?(${[name, ...below].join('|')}))(/|\\.ts$)`,
  },
}));

const indexRules = modules.map((name) => ({
  name: `through-index-${name}`,
  comment: `${name} is entered through its index.ts`,
  severity: 'error',
  from: { path: '^src/', pathNot: `^src/${name}/` },
  to: { path: `^src/${name}/`, pathNot: `^src/${name}/index\\.ts$` },
}));

/** A stage of a request knows those before it, through their index, and nothing that registers itself with them. */
const stages = ['intake', 'masks', 'admission', 'attempt', 'settle', 'relay'];
const beside = ['operations', 'media', 'reply', 'gates', 'stored', 'trace'];
const stageRules = stages.map((name, place) => ({
  name: `stage-${name}`,
  severity: 'error',
  from: { path: `^src/gateway/${name}/` },
  to: {
    path: '^src/gateway/',
    pathNot: [
      `^src/gateway/(${[name, ...beside].join('|')})/`,
      `^src/gateway/(${stages.slice(0, place).join('|') || '-'})/index\\.ts$`,
    ],
  },
}));

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    ...floorRules,
    ...indexRules,
    ...stageRules,
    {
      name: 'beside-the-stages',
      comment: 'what all stages use knows none of them',
      severity: 'error',
      from: { path: `^src/gateway/(${beside.join('|')})/` },
      to: { path: '^src/gateway/', pathNot: `^src/gateway/(${beside.join('|')})/` },
    },
    {
      name: 'pipeline-of-stages',
      comment:
        'the pipeline knows the stages; the store of responses and automatic choice register themselves',
      severity: 'error',
      from: { path: '^src/gateway/pipeline\\.ts$' },
      to: {
        path: '^src/gateway/',
        pathNot: [
          `^src/gateway/(${stages.join('|')})/index\\.ts$`,
          '^src/gateway/(operations/operation|reply/reply|trace/tracing)\\.ts$',
        ],
      },
    },
    {
      name: 'boot-above-app',
      comment: 'the start and the commands know the application, never the other way round',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(boot|commands|main\\.ts|cli\\.ts)' },
      to: { path: '^src/(boot|commands)/' },
    },
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'plain-floors',
      comment: 'kernel, vendors and protocol are plain TypeScript',
      severity: 'error',
      from: { path: '^src/(kernel|vendors|protocol)/' },
      to: { dependencyTypes: ['npm', 'npm-dev', 'npm-optional', 'npm-peer', 'npm-no-pkg', 'npm-unknown'] },
    },
    {
      name: 'contract-stands-alone',
      comment: 'the host depends on the contract of extensions, which depends on nothing',
      severity: 'error',
      from: { path: '^packages/extension/', pathNot: '^packages/extension/src/(kit|testing)/' },
      to: { pathNot: '^(packages/extension/(?!src/(kit|testing)/)|node_modules/@nestjs/common/)' },
    },
    {
      name: 'kit-stands-alone',
      comment: 'the kit is given to teams: it has the contract, and what comes with Node',
      severity: 'error',
      from: { path: '^packages/extension/src/kit/' },
      to: { pathNot: '^packages/extension/', dependencyTypesNot: ['core'] },
    },
    {
      name: 'test-host-stands-alone',
      comment: 'the test double of the host is given to teams: it has the contract, and their own Nest',
      severity: 'error',
      from: { path: '^packages/extension/src/testing/' },
      to: {
        pathNot: '^(packages/extension/(?!src/kit/)|node_modules/(@nestjs/(common|core)|rxjs)/)',
        dependencyTypesNot: ['core'],
      },
    },
    {
      name: 'migrations-stand-alone',
      severity: 'error',
      from: { path: '^migrations/' },
      to: { path: '^src/' },
    },
    {
      name: 'no-development-packages',
      severity: 'error',
      from: { path: '^(src|migrations|simulator)/' },
      to: { dependencyTypes: ['npm-dev'] },
    },
    { name: 'resolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['require', 'node', 'default', 'types'],
    },
  },
};
