import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { builtExtension } from '../../support/extension-folder';
import { Program, projectFolder } from '../../system/program';
import { House } from '../admin/house';
import { describeContract } from './contract-suite';

/*
 * "Decorated classes cannot be tested outside a 40 s process […] a double generated from the contract, one contract
 * suite runs against double and host".
 */

interface ServedDouble {
  readonly url: string;
  readonly people: Readonly<Record<string, Record<string, string>>>;
  readonly key: Record<string, string>;
}

// The double is loaded as a team's tests load it: from the package, beside Nest.
describeContract('the test double', async () => {
  const desk = builtExtension('test/fixtures/extensions/desk');
  for (const name of ['@nestjs', 'rxjs'])
    symlinkSync(join(projectFolder, 'node_modules', name), join(desk.path, 'node_modules', name));
  const script = join(projectFolder, 'test/fixtures/extensions/desk-double.cjs');
  const program = Program.run(process.execPath, [script], {}, { folder: desk.path });
  const [, served = ''] = await program.find(/^ready (.*)$/m);
  const { url, people, key } = JSON.parse(served) as ServedDouble;
  return {
    url,
    signedIn: (role) => Promise.resolve(people[role] ?? {}),
    withKey: () => key,
    close: async () => {
      await program.stop();
      desk.remove();
    },
  };
});

describeContract('the service', async () => {
  const desk = builtExtension('test/fixtures/extensions/desk');
  const house = await House.open({ environment: { EXTENSIONS: desk.path } });
  return {
    url: house.app.url,
    signedIn: async (role) => {
      const { cookie } = await house.person(role);
      return { cookie, 'sec-fetch-site': 'same-origin' };
    },
    withKey: () => ({ authorization: `Bearer ${house.app.firstKeys!.demo}` }),
    close: async () => {
      await house.close();
      desk.remove();
    },
  };
});

test('what the double takes from the types of the contract is up to date', async () => {
  const script = join(projectFolder, 'scripts/generate-test-host.cjs');
  expect(await Program.run(process.execPath, [script, '--check']).finish(60_000)).toMatchObject({
    code: 0,
    text: '',
  });
});
