import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { startTestApp } from '../../support/app';
import { installOffline, packContract, runScript } from '../../support/packed-contract';
import { makeScratchFolder } from '../../support/scratch';
import { projectFolder } from '../../system/program';

/*
 * "four of five TypeScript examples do not build outside […] every example is built and run from its packed form".
 */

const examples = join(projectFolder, 'examples/extensions');
const scratchFolder = makeScratchFolder('switchboard-examples-');
let contractPackage: string;

beforeAll(async () => (contractPackage = await packContract(scratchFolder)));
afterAll(() => rmSync(scratchFolder, { recursive: true, force: true }));

interface ExamplePackageFile {
  readonly dependencies: Record<string, string>;
  readonly devDependencies: Record<string, string>;
}

/** Installs a copy outside the project: the contract from its package, development tools as links. */
async function installExample(name: string): Promise<string> {
  const folder = join(mkdtempSync(join(scratchFolder, 'example-')), name);
  cpSync(join(examples, name), folder, { recursive: true });
  copyFileSync(contractPackage, join(folder, 'contract.tgz'));
  const file = join(folder, 'package.json');
  const { devDependencies, ...content } = JSON.parse(readFileSync(file, 'utf8')) as ExamplePackageFile;
  content.dependencies['@switchboard/extension'] = 'file:contract.tgz';
  writeFileSync(file, JSON.stringify(content));
  await installOffline(folder);
  for (const dependency of Object.keys(devDependencies)) {
    const link = join(folder, 'node_modules', dependency);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(projectFolder, 'node_modules', dependency), link);
  }
  mkdirSync(join(folder, 'node_modules/.bin'), { recursive: true });
  symlinkSync(join(projectFolder, 'node_modules/.bin/tsc'), join(folder, 'node_modules/.bin/tsc'));
  return folder;
}

const settings: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'kafka-tap': { EXT_KAFKA_TAP_BROKERS: '127.0.0.1:9', EXT_KAFKA_TAP_TOPIC: 'requests' },
  'ldap-sign-in': { EXT_LDAP_SIGN_IN_URL: 'ldap://127.0.0.1:9', EXT_LDAP_SIGN_IN_BASE: 'dc=example' },
  'personal-data': { EXT_PERSONAL_DATA_SECRET: 'a secret of sixteen or more' },
};

const names = readdirSync(examples).filter((name) => existsSync(join(examples, name, 'package.json')));

// "supertest example in 1 s".
test('the tests of cost-centres run against the test double, without the service', async () => {
  const folder = await installExample('cost-centres');
  await runScript(folder, 'build');
  const { output } = await runScript(folder, 'test');
  expect(output).toMatch(/^ℹ pass 3$|^# pass 3$/m);
});

test.each(names)('the example %s builds outside the project and runs in the service', async (name) => {
  const folder = await installExample(name);
  await runScript(folder, 'build');
  const app = await startTestApp({ environment: { EXTENSIONS: folder, ...settings[name] } });
  try {
    expect((await fetch(`${app.url}/health/ready`)).status).toBe(200);
  } finally {
    await app.close();
  }
});
